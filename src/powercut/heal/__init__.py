"""Healing: what a persistent fault depends on, and what to take back."""
