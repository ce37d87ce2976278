"""Everything at once on a real control plane: load, gangs, rotation, restarts, deaths and edits, and that nobody noticed.

The same engine plays 90 seconds in ``tests/e2e/test_chaos.py`` and ten minutes in ``tests/soak/test_chaos.py``.
"""
