"""`powercut cc`: compile so that the program records by itself what it does to persistent memory."""

from __future__ import annotations

import click

_SETTINGS = {"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []}


def compile_command(name: str, *, plus: bool) -> click.Command:
    """The command for C, or for C++."""

    @click.command(name, context_settings=_SETTINGS)
    @click.option(
        "--compiler",
        metavar="COMMAND",
        help="gcc or clang, with its options (default: POWERCUT_CC or cc; for C++ POWERCUT_CXX or c++).",
    )
    @click.argument("words", nargs=-1, type=click.UNPROCESSED)
    @click.pass_context
    def command(ctx: click.Context, words: tuple[str, ...], compiler: str | None) -> int:
        from powercut.assertions.compile import compile_tracked, default_compiler, find_compiler

        if list(words) in ([], ["--help"]):
            click.echo(ctx.get_help())
            return 0
        return compile_tracked(find_compiler(compiler or default_compiler(plus=plus)), words)

    language = "C++" if plus else "C"
    command.help = f"""Compile {language} so that powercut check sees what it stores.

    Stores, flushes and fences are recorded. Everything but --compiler, which comes first, goes to the compiler. Stands
    where a build names its compiler.

    \b
    powercut {name} -O2 store.c -o store
    powercut check -- ./store fill
    make CC="powercut cc" CXX="powercut c++"
    """
    return command


command = compile_command("cc", plus=False)
