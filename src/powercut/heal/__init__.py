"""Healing: finding the updates that a persistent fault depends on, and undoing them."""
