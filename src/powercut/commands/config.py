"""`powercut config`: the flags that a build with assertions needs."""

from __future__ import annotations

import shlex

import click


@click.command("config")
@click.option("--cflags", is_flag=True, help="Flags for compiling.")
@click.option("--libs", is_flag=True, help="Flags for linking, for the end of the command line.")
@click.option("--static", is_flag=True, help="Link libpowercut into the program (default: as a shared library).")
def command(cflags: bool, libs: bool, static: bool) -> int:
    """Print the flags for a build of C or C++ with assertions.

    \b
    cc $(powercut config --cflags) store.c -o store $(powercut config --libs)
    powercut check -- ./store
    """
    from powercut.assertions.build import compiler_flags, linker_flags
    from powercut.errors import UsageError

    if not cflags and not libs:
        raise UsageError("no-flags-asked", "say which flags are wanted.", "Give --cflags, --libs, or both.")
    flags = [*(compiler_flags() if cflags else []), *(linker_flags(static=static) if libs else [])]
    click.echo(shlex.join(flags))
    return 0
