"""`python -m powercut`."""

from powercut.commands.main import main

main()
