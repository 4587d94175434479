"""The grammar of a program's commands: a small TOML file from which seeds are made.

    threads = 4                        # of the program; operations are distributed to them
    line = "{thread} {command}"        # how one operation is written; without {thread} the program distributes lines
    refused = "^refused"               # a line of the program's output that matches says: one command was refused
    populate = "put"                   # the command that fills the program

    [command.put]
    form = "put {key} {value}"
    weight = 3
    [command.get]
    form = "get {key}"

    [parameter.key]
    kind = "integer"                   # or "choice", or "text"
    least = 1
    most = 1000
    similar = true                     # values near each other, and the same ones again, are preferred
    [parameter.value]
    kind = "choice"
    values = ["7", "8"]

Before: a file of the user's. After: a `Grammar` in which every name that is used exists and every range holds
something, or a `UsageError` that names the file and the place. What the program says about its commands is counted by
`Grammar.refusals`: whether seeds mean anything to it can be measured.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from powercut.errors import UsageError
from powercut.quick_dataclass import dataclass

MOST_THREADS = 64
MOST_OPERATIONS = 100_000  # in one seed; a campaign of more than that teaches nothing that a shorter one does not
_BLANK = re.compile(r"\{([a-z][a-z0-9_-]*)\}")
_LIKE_A_BLANK = re.compile(r"\{([A-Za-z_][A-Za-z0-9_-]*)\}")
_PARTS_OF_A_LINE = {"thread", "command"}


class Integer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="integer"):
    """Whole numbers from `least` to `most`."""

    least: int = 0
    most: int
    similar: bool = False

    def holds(self, text: str) -> bool:
        """Whether this is one of its values."""
        return re.fullmatch(r"-?\d+", text) is not None and self.least <= int(text) <= self.most


class Text(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="text"):
    """Words of `least` to `most` letters."""

    least: int = 1
    most: int = 8
    letters: str = "abcdefghijklmnopqrstuvwxyz"
    similar: bool = False

    def holds(self, text: str) -> bool:
        """Whether this is one of its values."""
        return self.least <= len(text) <= self.most and set(text) <= set(self.letters)


class Choice(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="choice"):
    """One of some words."""

    values: tuple[str, ...]

    def holds(self, text: str) -> bool:
        """Whether this is one of its values."""
        return text in self.values


Parameter = Integer | Text | Choice


class Command(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A command: its form, with a blank for each parameter, and how often it comes, compared with others."""

    form: str
    weight: int = 1

    @property
    def blanks(self) -> tuple[str, ...]:
        """The names of the parameters, in the order of the form."""
        return tuple(_BLANK.findall(self.form))

    def filled(self, values: tuple[str, ...]) -> str:
        """The command with its blanks filled."""
        rest = iter(values)
        return _BLANK.sub(lambda _: next(rest), self.form)


class Grammar(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a program's commands look like.

    Attributes:
        threads: of the program.
        line: how one operation is written.
        refused: an expression that is found in lines in which the program refuses a command; None: it never says so.
        populate: name of the command that fills the program; None: there is none.
        operations: how many a first seed has, and `most`, any seed.
        last: lines at the end of each seed.
    """

    threads: int = 4
    line: str = "{command}"
    refused: str | None = None
    populate: str | None = None
    operations: int = 64
    most: int = 4_000
    last: tuple[str, ...] = ()
    command: dict[str, Command]
    parameter: dict[str, Parameter] = {}

    def refusals(self, commands: int, output: bytes) -> Refusals:
        """How many of the commands that a run was given it refused, by what it printed."""
        if self.refused is None:
            return Refusals(commands, 0)
        lines = output.decode("utf-8", "replace").splitlines()
        matching = [line for line in lines if re.search(self.refused, line)]
        return Refusals(commands, min(len(matching), commands), matching[0] if matching else "")


@dataclass(frozen=True, slots=True)
class Refusals:
    """Commands that were given, how many of them were refused, and the words with which the first one was."""

    commands: int = 0
    refused: int = 0
    said: str = ""

    @property
    def share(self) -> float:
        """The share of refused commands, 0 if none was given."""
        return self.refused / self.commands if self.commands else 0.0

    def __add__(self, other: Refusals) -> Refusals:
        return Refusals(self.commands + other.commands, self.refused + other.refused, self.said or other.said)

    def check(self, where: str) -> None:
        """A grammar of which the program understands nothing is refused; `where` names it."""
        if self.commands and self.refused == self.commands:
            raise UsageError(
                "grammar-refused",
                f"{where}: the program refused all {self.commands} commands, the first with {self.said[:200]!r}.",
                "Compare the forms of the grammar with the commands that the program reads.",
            )


def load_grammar(path: Path) -> Grammar:
    """Read and check a grammar."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        grammar = msgspec.convert(content, Grammar)
    except OSError as error:
        raise UsageError("bad-grammar", f"cannot read {path}: {error.strerror}.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        hint = "A kind is integer, text or choice." if ".kind`" in str(error) else ""
        raise UsageError("bad-grammar", f"{path}: {error}.", hint) from error
    wrong = next(_mistakes(grammar), None)
    if wrong is not None:
        raise UsageError("bad-grammar", f"{path}: {wrong}.")
    return grammar


def _mistakes(grammar: Grammar) -> Iterator[str]:
    """What cannot be, one after the other."""
    if not grammar.command:
        yield "command is empty"
    if not 1 <= grammar.threads <= MOST_THREADS:
        yield f"threads must be between 1 and {MOST_THREADS}, not {grammar.threads}"
    if not 1 <= grammar.operations <= grammar.most <= MOST_OPERATIONS:
        yield f"operations and most must be 1 <= operations <= most <= {MOST_OPERATIONS}"
    unknown = set(_BLANK.findall(grammar.line)) - _PARTS_OF_A_LINE
    if unknown or "{command}" not in grammar.line:
        yield "line must contain {command}, may contain {thread}, and no other placeholder"
    if grammar.populate is not None and grammar.populate not in grammar.command:
        yield f"populate is {grammar.populate!r}, which is not a command"
    if any("\n" in text for text in (grammar.line, *grammar.last, *(one.form for one in grammar.command.values()))):
        yield "line, last and forms must be single lines"
    yield from _wrong_expression(grammar.refused)
    for name, command in grammar.command.items():
        yield from _wrong_command(f"command.{name}", command, grammar)
    for name, parameter in grammar.parameter.items():
        yield from _wrong_parameter(f"parameter.{name}", parameter)


def _wrong_expression(refused: str | None) -> Iterator[str]:
    try:
        re.compile(refused or "")
    except re.error as error:
        yield f"refused is not a regular expression: {error}"


def _wrong_command(where: str, command: Command, grammar: Grammar) -> Iterator[str]:
    odd = [name for name in _LIKE_A_BLANK.findall(command.form) if name not in command.blanks]
    if odd:
        yield f"{where} has {{{odd[0]}}}, but placeholders consist of small letters, digits, - and _, such as {{key}}"
    missing = [name for name in command.blanks if name not in grammar.parameter]
    if missing:
        yield f"{where} has the placeholder {{{missing[0]}}}, but parameter.{missing[0]} is missing"
    if command.weight < 1:
        yield f"{where}: weight must be at least 1"


def _wrong_parameter(where: str, parameter: Parameter) -> Iterator[str]:
    if isinstance(parameter, Choice):
        if not parameter.values or any("\n" in value for value in parameter.values):
            yield f"{where}: values must contain at least one word, and each must be a single line"
        return
    if parameter.least > parameter.most:
        yield f"{where}: least ({parameter.least}) must not be more than most ({parameter.most})"
    if isinstance(parameter, Text) and (parameter.least < 0 or not parameter.letters or "\n" in parameter.letters):
        yield f"{where}: letters must not be empty or contain a newline, and least must not be negative"
