"""Equivalence by what recovery reads: a deterministic check that reads the same says the same."""
