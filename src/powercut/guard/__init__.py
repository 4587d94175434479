"""Guarding a service: a checkpoint log of everything it makes durable, and restarts after failures (Arthas)."""
