"""Runtimes of languages: how lines are found of code that no file of machine code holds, or that others asked for.

Each runtime is a module (`node`, `python`, `java`) that says what is put into the program's environment, and how what
its agent tells the tracer (native/told_format.h) becomes lines. docs/runtimes.md says how to add one.
"""
