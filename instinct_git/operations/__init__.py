"""The verbs, a family a file: read, plan, apply. `memory.py` is their door."""
