"""Speed and memory as ratios against an anchor, both measured in the same run: ``python -m tests.bench``.

One module per measurement; each returns a ``Section``. Nothing here is asserted: figures of a shared machine are for
reading, and absolute ones move by a factor of two or three with its load. Ratios move far less.
"""
