"""Frozen words of the domain. Knows no rule, no client and no clock; every other room may import it."""
