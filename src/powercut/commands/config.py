"""`powercut config`: print the compiler flags for a build with assertions."""

from __future__ import annotations

import shlex

import click


@click.command("config")
@click.option("--cflags", is_flag=True, help="Print the flags for compiling.")
@click.option("--libs", is_flag=True, help="Print the flags for linking; put them at the end of the command line.")
@click.option("--static", is_flag=True, help="Link libpowercut statically (default: as a shared library).")
def command(cflags: bool, libs: bool, static: bool) -> int:
    """Print the compiler flags for C or C++ with assertions.

    \b
    cc $(powercut config --cflags) store.c -o store $(powercut config --libs)
    powercut check -- ./store
    """
    from powercut.assertions.build import compiler_flags, linker_flags
    from powercut.errors import UsageError

    if not cflags and not libs:
        raise UsageError("no-flags-asked", "choose which flags to print.", "Use --cflags, --libs, or both.")
    flags = [*(compiler_flags() if cflags else []), *(linker_flags(static=static) if libs else [])]
    click.echo(shlex.join(flags))
    return 0
