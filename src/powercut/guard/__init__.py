"""Guarding a service: a checkpoint log of all it makes durable, and the watch over how it ends (Arthas)."""
