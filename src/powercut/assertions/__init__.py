"""Assertions in a program (PMTest): building with them, running under check, and what was found."""
