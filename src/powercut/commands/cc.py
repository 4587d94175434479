"""`powercut cc`: compile a program so that it records its own accesses to persistent memory."""

from __future__ import annotations

import click

_SETTINGS = {"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []}


def compile_command(name: str, *, plus: bool) -> click.Command:
    """The command for C, or for C++."""

    @click.command(name, context_settings=_SETTINGS)
    @click.option(
        "--compiler",
        metavar="COMMAND",
        help="The compiler to call: gcc or clang, with options (default: POWERCUT_CC or cc; C++: POWERCUT_CXX or c++).",
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
    command.help = f"""Compile {language} so that powercut check sees its stores.

    The program then records its stores, flushes and fences. Use this command in place of the compiler in your build.
    All options go to the compiler, except --compiler, which must come first.

    \b
    powercut {name} -O2 store.c -o store
    powercut check -- ./store fill
    make CC="powercut cc" CXX="powercut c++"
    """
    return command


command = compile_command("cc", plus=False)
