"""`powercut doctor`: what this machine can and cannot do, and how to get it."""

from __future__ import annotations

import click


@click.command("doctor")
def command() -> int:
    """Tell what powercut can do here, and how to get the rest.

    Each gap ends with the command that closes it. Exits with 0 if programs can be recorded and tested here, 3 if not.

    \b
    powercut doctor
    """
    from powercut.record.doctor import examine

    healthy = True
    for finding in examine():
        healthy &= finding.fine or not finding.needed
        mark = "ok     " if finding.fine else "MISSING" if finding.needed else "limited"
        click.echo(f"{mark}  {finding.name}: {finding.text}")
        if not finding.fine:
            told = [finding.meanwhile, f"run: {finding.command}"]
            click.echo("\n".join(f"         {line}" for line in told if line))
    return 0 if healthy else 3
