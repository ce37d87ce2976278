"""What an attacker would try: the 26 points of the checklist by number, fuzzers, and the claims of docs/security.md."""
