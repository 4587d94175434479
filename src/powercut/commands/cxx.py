"""`powercut c++`: the same as `powercut cc`, for C++."""

from __future__ import annotations

from powercut.commands.cc import compile_command

command = compile_command("c++", plus=True)
