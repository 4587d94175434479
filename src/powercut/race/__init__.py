"""Races in persistent memory: campaigns of a program with threads, its inputs and its schedules, and what they show."""
