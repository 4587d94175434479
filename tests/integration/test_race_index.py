"""The hash table and the B+ tree of corpus/race are right without a mistake: under threads, and after power cuts.

And the grammar of their commands makes nothing that they refuse.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))

from harness import powercut_test
from race_index import GRAMMAR, MAPS, Index, IndexBug, build_index, index_bugs, marked_lines

from powercut.errors import UsageError
from powercut.native_programs import why_no_memory_tool
from powercut.race.grammar import load_grammar
from powercut.race.seeds import Mutator

every_map = pytest.mark.parametrize("name", MAPS)
needs_tracer = pytest.mark.skipif(bool(why_no_memory_tool()), reason=why_no_memory_tool() or "nothing is missing")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_index(tmp_path_factory.mktemp("index"))


def carry_out(index: Index, data: Path, seed: bytes) -> str:
    done = subprocess.run(index.workload(data), input=seed, stdout=subprocess.PIPE, check=True, timeout=60)
    return done.stdout.decode()


def seeds(count: int) -> list[bytes]:
    """Some of a grammar, the last one large."""
    grammar = load_grammar(GRAMMAR)
    mutator = Mutator(grammar, 7)
    kept = [mutator.first()]
    for _ in range(count - 1):
        kept.append(mutator.next(kept))
    for _ in range(8):
        kept[-1] = mutator.populate(kept[-1])
    return [seed.text(grammar) for seed in kept]


@pytest.mark.parametrize("threads", [1, 2, 8])
@every_map
def test_threads_that_know_their_own_keys_are_never_surprised(
    program: Path, name: str, threads: int, tmp_path: Path
) -> None:
    command = [str(program), name, str(tmp_path), "stress", "3", "15000", str(threads)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 0, done.stdout
    judged = subprocess.run([str(program), name, ".", "verify"], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert (judged.returncode, judged.stdout) == (0, done.stdout)


@every_map
def test_there_is_no_data_race(name: str, tmp_path: Path) -> None:
    program = build_index(tmp_path, "-fsanitize=thread")
    data = tmp_path / "data"
    data.mkdir()
    command = ["setarch", "-R", str(program), name, str(data), "stress", "3", "1500", "4"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


@every_map
def test_no_command_of_the_grammar_is_refused(program: Path, name: str, tmp_path: Path) -> None:
    index, grammar = Index(program, name), load_grammar(GRAMMAR)
    for seed in seeds(6):
        output = carry_out(index, tmp_path, seed)
        assert grammar.refusals(seed.count(b"\n"), output.encode()).refused == 0, output


def test_a_grammar_of_other_commands_is_refused_with_its_share(program: Path, tmp_path: Path) -> None:
    text = GRAMMAR.read_text().replace('form = "', 'form = "please ')
    (tmp_path / "wrong.toml").write_text(text)
    grammar = load_grammar(tmp_path / "wrong.toml")
    seed = Mutator(grammar, 1).first()
    output = carry_out(Index(program, "table"), tmp_path, seed.text(grammar))
    with pytest.raises(UsageError, match="refused all 400 commands"):
        grammar.refusals(len(seed.steps), output.encode()).check("wrong.toml")


@needs_tracer
@every_map
def test_no_power_cut_breaks_a_map_without_a_mistake(program: Path, name: str, tmp_path: Path) -> None:
    index, data, seed = Index(program, name), tmp_path / "data", tmp_path / "seed"
    data.mkdir()
    seed.write_bytes(b"".join(f"{key % 4} put {key * 7 % 40 + 1}\n".encode() for key in range(40)) + seeds(1)[0][:900])
    started = ["sh", "-c", 'exec "$@" < "$0"', str(seed), *index.workload(data, "--say")]
    options = ["--tracer", "memory", "--budget", "2m", "--max-states", "150", "--no-lint"]
    run = powercut_test(started, index.check, data, options=options)
    assert (run.code, run.findings) == (0, ()), run.output


@needs_tracer
def test_a_power_cut_shows_that_the_check_can_fail(program: Path, tmp_path: Path) -> None:
    """A parent that leads where no sibling durably leads: no other thread is needed to see it."""
    index, data, seed = Index(program, "tree", "separator"), tmp_path / "data", tmp_path / "seed"
    data.mkdir()
    seed.write_bytes(b"".join(f"0 put {key}\n".encode() for key in range(1, 20)))
    started = ["sh", "-c", 'exec "$@" < "$0"', str(seed), *index.workload(data)]
    run = powercut_test(started, index.check, data, options=["--tracer", "memory", "--budget", "3s", "--no-lint"])
    assert run.code == 1, run.output


@pytest.mark.parametrize("bug", index_bugs(), ids=lambda bug: bug.name)
def test_lines_that_a_finding_must_name_are_marked(bug: IndexBug) -> None:
    marks = {"inter-thread": ("WRITE", "READ"), "intra-thread": ("WRITE", "READ")}
    marks |= {"synchronization": ("LOCK",), "deadlock": ("HELD",)}
    for kind in bug.kinds:
        assert all(marked_lines(mark, bug.name) for mark in marks[kind])


def test_the_program_knows_every_mistake(program: Path) -> None:
    told = subprocess.run([str(program), "bugs"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    assert sorted(told) == sorted(bug.name for bug in index_bugs())
