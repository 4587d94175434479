"""Quick dataclasses do what those of the standard library do, except that the frozen ones are frozen for mypy only."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import field
from typing import Any

import pytest

from powercut import quick_dataclass

QUICK: Any = quick_dataclass.dataclass  # mypy takes both for the same


def _frozen(make: Any) -> Any:
    @make(frozen=True, slots=True)
    class Place:
        file: str
        line: int = 0
        column: int = field(default=0, compare=False)
        hidden: tuple[int, ...] = field(default=(), repr=False, hash=False)

        @property
        def text(self) -> str:
            return f"{self.file}:{self.line}"

    return Place


def _changing(make: Any) -> Any:
    @make(slots=True)
    class Place:
        file: str
        lines: list[Any] = field(default_factory=list)

    return Place


def _ordered(make: Any) -> Any:
    @make(frozen=True, slots=True, order=True)
    class Place:
        line: int
        file: str = ""

    return Place


def _identical(make: Any) -> Any:
    @make(slots=True, eq=False)
    class Place:
        file: str

    return Place


def _own(make: Any) -> Any:
    @make(frozen=True)
    class Place:
        file: str

        def __repr__(self) -> str:
            return "mine"

        def __hash__(self) -> int:
            return 7

    return Place


CASES: list[tuple[Callable[[Any], Any], list[tuple[Any, ...]]]] = [
    (_frozen, [("a",), ("a", 0, 9), ("a", 1), ("b", 0, 0, (1,)), ("b",)]),
    (_changing, [("a",), ("a", [1]), ("a", [])]),
    (_ordered, [(1, "b"), (1, "a"), (0, "c"), (1, "a")]),
    (_identical, [("a",), ("a",)]),
    (_own, [("a",), ("b",), ("a",)]),
]


@pytest.mark.parametrize(("define", "made"), CASES, ids=lambda value: getattr(value, "__name__", ""))
def test_as_in_the_standard_library(define: Callable[[Any], Any], made: list[tuple[Any, ...]]) -> None:
    seen = []
    for make in (dataclasses.dataclass, QUICK):
        kind = define(make)
        places = [kind(*given) for given in made]
        hashable = kind.__hash__ is not None
        seen.append(
            (
                [[one == other for other in places] for one in places],
                [[hash(one) == hash(other) for other in places] for one in places] if hashable else None,
                [repr(one).rpartition(".")[2] for one in places] if define is not _identical else None,
                [dataclasses.asdict(one) for one in places],
                [dataclasses.replace(one, **{dataclasses.fields(one)[0].name: 3}) == one for one in places],
                kind.__match_args__,
                sorted(range(len(places)), key=places.__getitem__) if define is _ordered else None,
                [one == given for one, given in zip(places, made, strict=True)],
            )
        )
    assert seen[0] == seen[1]


@QUICK(frozen=True, slots=True)
class Base:
    """A value."""

    file: str


class Derived(Base):
    """One that adds nothing to be compared."""


def test_derived_classes_and_copies() -> None:
    assert Derived("a") == Derived("a") != Derived("b")
    assert Derived("a") != Base("a")
    assert len({Derived("a"), Derived("a"), Base("a")}) == 2
    for one in (Base("a"), Derived("a")):
        assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == one


def test_what_is_not_a_field_cannot_be_set() -> None:
    with pytest.raises(AttributeError):
        Base("a").line = 3  # type: ignore[attr-defined]


def test_no_method_is_compiled_before_it_is_used() -> None:
    code = """
import builtins
from powercut.quick_dataclass import dataclass
compiled = []
real = builtins.exec
builtins.exec = lambda text, *more: (compiled.append(text), real(text, *more))
@dataclass(frozen=True, slots=True)
class Place:
    file: str
print(len(compiled))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
