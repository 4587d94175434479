"""`powercut doctor`: check what works on this machine and how to enable the rest."""

from __future__ import annotations

import click


@click.command("doctor")
def command() -> int:
    """Check what works on this machine and how to enable the rest.

    For everything that is missing, doctor prints the reason and the command that fixes it. Exits with 0 if powercut
    can record and test programs here, and otherwise with 3.

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
