"""Seeds are valid under their grammar, repeatable, within bounds; each mutation changes what it says and no more."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powercut.errors import UsageError
from powercut.race.grammar import Choice, Command, Grammar, Integer, Refusals, Text, load_grammar
from powercut.race.seeds import FILL, WINDOW, Mutator, Seed, Step

numbers = st.integers(0, 2**32)
parameters = st.one_of(
    st.builds(
        lambda least, span, similar: Integer(least=least, most=least + span, similar=similar),
        st.integers(-50, 50),
        st.integers(0, 10**6),
        st.booleans(),
    ),
    st.builds(
        lambda least, span, similar: Text(least=least, most=least + span, letters="ab{}", similar=similar),
        st.integers(0, 3),
        st.integers(0, 5),
        st.booleans(),
    ),
    st.builds(lambda values: Choice(values=tuple(values)), st.lists(st.sampled_from(["x", "y", "{key}"]), min_size=1)),
)


@st.composite
def grammars(draw: st.DrawFn) -> Grammar:
    names = draw(st.lists(st.sampled_from(["key", "value", "flag"]), min_size=1, unique=True))
    forms = st.lists(st.sampled_from(names), max_size=3).map(
        lambda blanks: " ".join(["do", *(f"{{{b}}}" for b in blanks)])
    )
    commands = draw(st.lists(forms, min_size=1, max_size=4))
    operations = draw(st.integers(1, 30))
    return Grammar(
        threads=draw(st.integers(1, 8)),
        line=draw(st.sampled_from(["{command}", "{thread} {command}"])),
        populate=draw(st.sampled_from([None, "c0"])),
        operations=operations,
        most=operations + draw(st.integers(0, 300)),
        command={f"c{at}": Command(form=form, weight=draw(st.integers(1, 5))) for at, form in enumerate(commands)},
        parameter={name: draw(parameters) for name in names},
    )


def family(grammar: Grammar, number: int, generations: int) -> list[Seed]:
    """A first seed, those that come of it, merged and populated ones."""
    mutator = Mutator(grammar, number)
    kept = [mutator.first()]
    for _ in range(generations):
        kept.append(mutator.next(kept))
    return [*kept, mutator.merge(kept[0], kept[-1]), mutator.populate(kept[-1])]


@given(grammars(), numbers)
@settings(max_examples=60)
def test_every_seed_is_valid_and_within_bounds(grammar: Grammar, number: int) -> None:
    for seed in family(grammar, number, 12):
        assert 1 <= len(seed.steps) <= grammar.most
        for step in seed.steps:
            assert 0 <= step.thread < grammar.threads
            blanks = grammar.command[step.operation.command].blanks
            values = zip(blanks, step.operation.values, strict=True)
            assert all(grammar.parameter[name].holds(value) for name, value in values), step
        assert seed.text(grammar).count(b"\n") == len(seed.steps)


@given(grammars(), numbers)
@settings(max_examples=30)
def test_the_same_number_gives_the_same_seeds(grammar: Grammar, number: int) -> None:
    assert family(grammar, number, 8) == family(grammar, number, 8)


def operations(seed: Seed) -> Counter[object]:
    return Counter(step.operation for step in seed.steps)


@given(grammars(), numbers)
@settings(max_examples=60)
def test_each_mutation_changes_what_it_says(grammar: Grammar, number: int) -> None:
    mutator = Mutator(grammar, number)
    parent = mutator.first()
    size = len(parent.steps)
    for _ in range(6):
        child = mutator.next([parent])
        left, right = operations(parent), operations(child)
        if child.origin == "shuffle":
            assert left == right
        else:
            assert (left - right).total() <= 1
            assert (right - left).total() <= 1
            assert abs(len(child.steps) - size) <= 1


@given(grammars(), numbers)
@settings(max_examples=60)
def test_a_merged_seed_holds_both_in_their_order(grammar: Grammar, number: int) -> None:
    mutator = Mutator(grammar, number)
    one, other = mutator.first(), mutator.first()
    steps = iter(mutator.merge(one, other).steps)
    if len(one.steps) + len(other.steps) <= grammar.most:
        assert all(step in steps for step in one.steps)


KEYS = Grammar(
    populate="put",
    most=1000,
    operations=200,
    command={"put": Command(form="put {key}"), "get": Command(form="get {key}")},
    parameter={"key": Integer(least=1, most=10**6, similar=True)},
)


def keys(steps: tuple[Step, ...]) -> list[int]:
    return [int(step.operation.values[0]) for step in steps]


def test_similar_keys_come_again_and_lie_together() -> None:
    found = keys(Mutator(KEYS, 1).first().steps)
    assert len(set(found)) < len(found) / 2
    assert max(found) < 10 * WINDOW


def test_a_population_has_various_keys_and_comes_first() -> None:
    seed = Mutator(KEYS, 1).first()
    full = Mutator(KEYS, 2).populate(seed)
    assert full.steps[FILL:] == seed.steps
    assert len(set(keys(full.steps[:FILL]))) > FILL * 0.9
    assert {step.operation.command for step in full.steps[:FILL]} == {"put"}


def test_every_mutation_is_used() -> None:
    mutator = Mutator(KEYS, 3)
    kept = [mutator.first(), mutator.first()]
    assert {mutator.next(kept).origin for _ in range(100)} == {"mutate", "add", "delete", "shuffle", "merge"}


def write(folder: Path, text: str) -> Path:
    path = folder / "grammar.toml"
    path.write_text(text)
    return path


GOOD = """
threads = 3
line = "{thread} {command}"
refused = "^no: "
last = ["quit"]
[command.put]
form = "put {key} {value}"
[parameter.key]
kind = "integer"
most = 9
[parameter.value]
kind = "choice"
values = ["a"]
"""


def test_a_grammar_is_read(tmp_path: Path) -> None:
    grammar = load_grammar(write(tmp_path, GOOD))
    lines = Mutator(grammar, 0).first().text(grammar).decode().splitlines()
    assert lines[-1] == "quit"
    thread, command, key, value = lines[0].split()
    assert int(thread) < 3 and command == "put" and 0 <= int(key) <= 9 and value == "a"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("threads = 3", "threads = 0", "threads must be between 1 and 64"),
        ("{command}", "{order}", "line must contain {command}"),
        ("{value}", "{worth}", "parameter.worth is missing"),
        ("{value}", "{Value}", "command.put has {Value}, but placeholders consist of small letters"),
        ('"^no: "', '"("', "refused is not a regular expression"),
        ("most = 9", "most = -1", "least (0) must not be more than most (-1)"),
        ('["a"]', "[]", "values must contain at least one word"),
        ("most = 9", "mots = 9", "mots"),
        ("[command.put]", "[[command.put]]", "command"),
        ('last = ["quit"]', 'populate = "fill"', "populate is 'fill', which is not a command"),
        ("threads = 3", "threads = ", "line 2"),
    ],
)
def test_a_wrong_grammar_is_refused_with_its_place(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new))
    with pytest.raises(UsageError) as caught:
        load_grammar(path)
    assert caught.value.slug == "bad-grammar"
    assert message in caught.value.message and str(path) in caught.value.message


def test_a_grammar_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        load_grammar(tmp_path / "none.toml")


def test_refused_commands_are_counted_and_only_refusals_are_an_error(tmp_path: Path) -> None:
    grammar = load_grammar(write(tmp_path, GOOD))
    some = grammar.refusals(4, b"no: put\nyes\nno: \xff\n") + grammar.refusals(4, b"ok\n")
    assert (some.commands, some.refused, some.share, some.said) == (8, 2, 0.25, "no: put")
    some.check("g")
    Refusals().check("g")
    with pytest.raises(UsageError, match=r"g: the program refused all 2 commands, the first with 'no: a'"):
        grammar.refusals(2, b"no: a\nno: b\n").check("g")
