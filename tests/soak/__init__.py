"""Repetitions and long runs, on the real control plane where one is needed: ``make soak``.

Every scene is bounded in count and time; ``GANGWARDEN_SOAK=N`` multiplies the counts. What is random comes from one seed
a run, which is printed; ``GANGWARDEN_SOAK_SEED`` repeats a run as far as timing allows.
"""
