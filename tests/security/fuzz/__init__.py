"""Coverage-guided fuzzers of whatever reads what others wrote: reviews, policy files, CEL and PEM.

``python -m tests.security.fuzz TARGET`` runs one of them in a process of its own, with libFuzzer under it (atheris). An input
that is answered with a crash, with an allow out of an error, or at a price out of all proportion is kept, and ends the run.
"""

TARGETS = ("reviews", "policies", "expressions", "certificates")
"""Each is a module of this folder with a class ``Target``, and a folder of ``tests/security/corpus`` with what it starts from."""
