"""Operation seeds: input for a program with threads, and the mutations that make new seeds from old ones.

A seed is a list of operations, each with the thread that carries it out; as text it is what the program reads from
standard input. The mutations are those of PMRace (section 4.5): an operation's parameter changes, an operation is
added or deleted, operations are shuffled and distributed to threads anew, two seeds are merged, and the program is
populated with many new keys, which makes tables resize and nodes split. Keys that were used before, and keys near
them, are preferred: threads that never meet show nothing.

Whatever a `Mutator` makes is valid under its grammar, has at most `grammar.most` operations, and is the same for the
same grammar, number and calls.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence

from powercut.quick_dataclass import dataclass
from powercut.race.grammar import Choice, Grammar, Integer, Parameter

WINDOW = 16  # similar values begin within so many of the least one: few enough that threads meet
FARTHEST = 4  # a near value differs by a power of two up to the fourth: in a bucket, a node or a line beside
FILL = 256  # operations that one population adds: enough to resize a table of some hundred entries
_AGAIN, _NEAR = 0.5, 0.75  # of similar values, up to which roll one is used again, or one near it


@dataclass(frozen=True, slots=True)
class Operation:
    """A command of the grammar with its values."""

    command: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """An operation and the thread that carries it out."""

    thread: int
    operation: Operation


@dataclass(frozen=True, slots=True)
class Seed:
    """What a program is told to do; `origin` is the mutation that it comes from."""

    steps: tuple[Step, ...]
    origin: str = "given"

    def text(self, grammar: Grammar) -> bytes:
        """What the program reads."""
        lines = []
        for step in self.steps:
            command = grammar.command[step.operation.command].filled(step.operation.values)
            lines.append(grammar.line.replace("{thread}", str(step.thread)).replace("{command}", command))
        return "".join(f"{line}\n" for line in (*lines, *grammar.last)).encode()


class Mutator:
    """Makes seeds, of nothing and of others."""

    def __init__(self, grammar: Grammar, number: int) -> None:
        self.grammar = grammar
        self._dice = random.Random(number)
        self._mutations: dict[str, Callable[[Seed], tuple[Step, ...]]] = {
            "mutate": self._mutate,
            "add": self._add,
            "delete": self._delete,
            "shuffle": self._shuffle,
        }

    def first(self) -> Seed:
        """A seed of nothing."""
        steps: list[Step] = []
        used: dict[str, list[str]] = {}
        for _ in range(self.grammar.operations):
            steps.append(self._step(used))
            _note(self.grammar, steps[-1].operation, used)
        return Seed(tuple(steps), "first")

    def next(self, kept: Sequence[Seed]) -> Seed:
        """A seed made of those that were worth keeping, the latest preferred."""
        if not kept:
            return self.first()
        parent = kept[max(self._dice.randrange(len(kept)), self._dice.randrange(len(kept)))]
        kind = self._dice.choice(self._possible(parent, kept))
        if kind == "merge":
            return self.merge(parent, self._dice.choice(kept))
        return Seed(self._mutations[kind](parent), kind)

    def _possible(self, parent: Seed, kept: Sequence[Seed]) -> list[str]:
        """The mutations that can change a seed."""
        possible = {
            "mutate": any(step.operation.values for step in parent.steps),
            "add": len(parent.steps) < self.grammar.most,
            "delete": len(parent.steps) > 1,
            "shuffle": True,
            "merge": len(kept) > 1,
        }
        return [name for name, can in possible.items() if can]

    def merge(self, one: Seed, other: Seed) -> Seed:
        """The operations of two seeds, interleaved, each in its own order."""
        sides, steps = (deque(one.steps), deque(other.steps)), []
        while any(sides):
            steps.append(self._dice.choice([side for side in sides if side]).popleft())
        return Seed(tuple(steps[: self.grammar.most]), "merge")

    def populate(self, seed: Seed) -> Seed:
        """The same after many operations that fill the program with various keys; unchanged if nothing fills it."""
        name = self.grammar.populate
        room = min(FILL, self.grammar.most - len(seed.steps))
        if name is None or room <= 0:
            return seed
        filling = [Step(self._thread(), self._operation(name, {}, various=True)) for _ in range(room)]
        return Seed((*filling, *seed.steps), "populate")

    def _mutate(self, seed: Seed) -> tuple[Step, ...]:
        """One parameter of one operation gets another value."""
        at = self._dice.choice([at for at, step in enumerate(seed.steps) if step.operation.values])
        step = seed.steps[at]
        blanks = self.grammar.command[step.operation.command].blanks
        which = self._dice.randrange(len(blanks))
        values = list(step.operation.values)
        values[which] = self._value(blanks[which], _used(self.grammar, seed))
        changed = Step(step.thread, Operation(step.operation.command, tuple(values)))
        return (*seed.steps[:at], changed, *seed.steps[at + 1 :])

    def _add(self, seed: Seed) -> tuple[Step, ...]:
        """An operation more, anywhere."""
        at = self._dice.randint(0, len(seed.steps))
        return (*seed.steps[:at], self._step(_used(self.grammar, seed)), *seed.steps[at:])

    def _delete(self, seed: Seed) -> tuple[Step, ...]:
        """An operation less."""
        at = self._dice.randrange(len(seed.steps))
        return (*seed.steps[:at], *seed.steps[at + 1 :])

    def _shuffle(self, seed: Seed) -> tuple[Step, ...]:
        """The same operations in another order, by other threads."""
        operations = [step.operation for step in seed.steps]
        self._dice.shuffle(operations)
        return tuple(Step(self._thread(), operation) for operation in operations)

    def _thread(self) -> int:
        return self._dice.randrange(self.grammar.threads)

    def _step(self, used: dict[str, list[str]]) -> Step:
        names = list(self.grammar.command)
        (name,) = self._dice.choices(names, [self.grammar.command[one].weight for one in names])
        return Step(self._thread(), self._operation(name, used))

    def _operation(self, name: str, used: dict[str, list[str]], *, various: bool = False) -> Operation:
        blanks = self.grammar.command[name].blanks
        return Operation(name, tuple(self._value(blank, used, various=various) for blank in blanks))

    def _value(self, name: str, used: dict[str, list[str]], *, various: bool = False) -> str:
        """A value of a parameter: of similar ones often one that is used already, or near it."""
        parameter = self.grammar.parameter[name]
        if isinstance(parameter, Choice):
            return self._dice.choice(parameter.values)
        similar = parameter.similar and not various
        roll = self._dice.random()
        if similar and used.get(name) and roll < _NEAR:
            known = self._dice.choice(used[name])
            return known if roll < _AGAIN else self._near(parameter, known)
        return self._new(parameter, similar)

    def _new(self, parameter: Parameter, similar: bool) -> str:
        assert not isinstance(parameter, Choice)
        if isinstance(parameter, Integer):
            most = min(parameter.most, parameter.least + WINDOW - 1) if similar else parameter.most
            return str(self._dice.randint(parameter.least, most))
        length = self._dice.randint(parameter.least, parameter.most)
        return "".join(self._dice.choices(parameter.letters, k=length))

    def _near(self, parameter: Parameter, known: str) -> str:
        """A value beside one that is known."""
        assert not isinstance(parameter, Choice)
        if isinstance(parameter, Integer):
            step = (1 << self._dice.randint(0, FARTHEST)) * self._dice.choice((-1, 1))
            return str(min(max(int(known) + step, parameter.least), parameter.most))
        return known[:-1] + self._dice.choice(parameter.letters) if known else known


def _note(grammar: Grammar, operation: Operation, used: dict[str, list[str]]) -> None:
    """Add the values of an operation to those that are used."""
    for name, value in zip(grammar.command[operation.command].blanks, operation.values, strict=True):
        used.setdefault(name, []).append(value)


def _used(grammar: Grammar, seed: Seed) -> dict[str, list[str]]:
    """The values that a seed uses, by parameter."""
    used: dict[str, list[str]] = {}
    for step in seed.steps:
        _note(grammar, step.operation, used)
    return used
