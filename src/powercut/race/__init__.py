"""Persistent-memory races (PMRace): which loads can see what a power cut may still take away, and what follows."""
