"""Running a program, for checks: the module subprocess takes as long to load as all else that they do."""

import os


def run(*command: str) -> tuple[int, str]:
    """The exit status of a program, and what it printed."""
    here, there = os.pipe()
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, there, 1)])
    os.close(there)
    with open(here) as file:
        text = file.read()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), text
