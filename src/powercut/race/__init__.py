"""Persistent-memory races (PMRace): which loads see data that a power cut can still lose, and what follows."""
