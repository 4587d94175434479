"""The survey of real programs: `python -m survey.run --help`."""
