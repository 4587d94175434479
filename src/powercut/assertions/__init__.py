"""Assertions in a program (PMTest): building with them, checking them, and the results."""
