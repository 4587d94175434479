"""Where seeds come from: files of a folder, a grammar that makes and mutates them, or nothing at all.

Before: what the command line named. After: seeds as bytes, one after the other; those that a grammar makes follow the
ones that brought new coverage. A program without seeds has one, which is empty.
"""

from __future__ import annotations

from dataclasses import field
from pathlib import Path

from powercut.errors import UsageError
from powercut.quick_dataclass import dataclass
from powercut.race.grammar import Grammar, Refusals
from powercut.race.seeds import Mutator, Seed

POPULATE_AFTER = 3  # seeds in a row without a new block, before the program is filled with many keys
POPULATED_FIRST = 2  # so is this one of the first seeds: many races need a resize or a split


@dataclass(slots=True)
class Inputs:
    """Gives out seeds.

    Attributes:
        refusals: what the program said to the commands of a grammar.
        name: of the grammar's file.
    """

    given: list[bytes]
    grammar: Grammar | None = None
    number: int = 0
    name: str = ""
    refusals: Refusals = field(default_factory=Refusals)
    _made: dict[bytes, Seed] = field(default_factory=dict)
    _kept: list[Seed] = field(default_factory=list)
    _dull: int = 0
    _count: int = 0
    _mutator: Mutator | None = None

    def __post_init__(self) -> None:
        if self.grammar is not None:
            self._mutator = Mutator(self.grammar, self.number)
        elif not self.given:
            self.given = [b""]

    @property
    def has_more(self) -> bool:
        """Whether there is a next seed."""
        return bool(self.given) or self._mutator is not None

    def next(self) -> bytes | None:
        """The next seed; None if there are no more."""
        if self.given:
            return self.given.pop(0)
        if self._mutator is None or self.grammar is None:
            return None
        seed = self._mutator.next(self._kept)
        self._count += 1
        if self._dull >= POPULATE_AFTER or self._count == POPULATED_FIRST:
            self._dull, seed = 0, self._mutator.populate(seed)
        text = seed.text(self.grammar)
        self._made[text] = seed
        return text

    def ended(self, text: bytes, new_blocks: int) -> None:
        """What a seed brought."""
        self._dull = 0 if new_blocks else self._dull + 1
        seed = self._made.pop(text, None)
        if seed is not None and (new_blocks or not self._kept):
            self._kept.append(seed)

    def said(self, text: bytes, output: bytes) -> None:
        """What the program printed when it was given a seed: a grammar of which it understands nothing is refused."""
        seed = self._made.get(text)
        if seed is not None and self.grammar is not None:
            self.refusals += self.grammar.refusals(len(seed.steps), output)


def seed_files(folder: Path) -> list[bytes]:
    """The seeds of a folder, in the order of their names."""
    try:
        files = sorted(path for path in folder.iterdir() if path.is_file())
        found = [path.read_bytes() for path in files]
    except OSError as error:
        raise UsageError("bad-seeds", f"cannot read seeds from {folder}: {error.strerror}.") from error
    if not found:
        raise UsageError("bad-seeds", f"{folder} contains no seed.", "Put input files for the program into it.")
    return found
