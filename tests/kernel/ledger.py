"""The ledger: what real kernels left after power cuts, as data that the models are tested against without root.

`ledger/answers.json` holds for each question, file system and kernel how many images were looked at and how many showed
the outcome, with one of them; `ledger/states.json` random workloads with all states that were seen; `ledger/runs.json`
the last run of random workloads. States are told by how they differ from the folder before the workload (calls.START),
and a path that is gone by "-".
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.kernel.calls import START
from tests.kernel.model import Image
from tests.kernel.notation import content_text, image_of_text, state_text

FOLDER = Path(__file__).with_name("ledger")
ANSWERS, STATES, RUNS = FOLDER / "answers.json", FOLDER / "states.json", FOLDER / "runs.json"


def kernel() -> str:
    """The version of this kernel that its behaviour follows: 6.18, 6.1."""
    return ".".join(os.uname().release.split(".")[:2])


@dataclass(slots=True)
class Answer:
    """What came of one question.

    Attributes:
        images: how many were looked at, at moments that matter.
        shown: how many of them showed the outcome.
        line, returned, state: one of those.
    """

    kernel: str
    fs: str
    question: str
    images: int
    shown: int = 0
    line: int = -1
    returned: bool = False
    state: dict[str, str] | None = None


@dataclass(slots=True)
class Seen:
    """A workload, and what a kernel left of it: (line, returned, state), the line being the last call that was made."""

    kernel: str
    fs: str
    lines: list[str]
    left: list[tuple[int, bool, dict[str, str]]]


@dataclass(slots=True)
class Run:
    """A run of random workloads: those of the seeds from `seed` on.

    Attributes:
        states: distinct ones, at their moments.
        undecided: states that the matcher gave up on.
        forbidden: workloads with a state that the row forbids.
    """

    kernel: str
    fs: str
    seed: int
    workloads: int
    images: int
    states: int
    undecided: int
    forbidden: int


def _start() -> dict[str, str]:
    texts = {".": "dir 755"}
    for path, content in START.items():
        data = bytes(content) if isinstance(content, int) else content
        texts[path] = "dir 755" if data is None else f"file 644 {content_text(data)}"
    return texts


def difference(image: Image) -> dict[str, str]:
    """A state as the ledger tells it."""
    start, state = _start(), state_text(image)
    changed = {path: text for path, text in state.items() if start.get(path) != text}
    return changed | {path: "-" for path in start if path not in state}


def image_of(difference: dict[str, str]) -> Image:
    """The state that the ledger tells."""
    texts = _start() | difference
    return image_of_text({path: text for path, text in texts.items() if text != "-"})


def answers() -> list[Answer]:
    """All answers of the ledger."""
    return [Answer(**entry) for entry in _read(ANSWERS)]


def seen() -> list[Seen]:
    """All random workloads of the ledger."""
    return [Seen(**entry) for entry in _read(STATES)]


def runs() -> list[Run]:
    """The last run of random workloads on each file system and kernel."""
    return [Run(**entry) for entry in _read(RUNS)]


def _read(path: Path) -> list[dict]:
    return json.loads(path.read_text()) if path.exists() else []


def add(new_answers: list[Answer], new_seen: list[Seen], new_runs: list[Run]) -> None:
    """Put what was seen in the place of older answers to the same questions, and of older workloads."""
    last = {(r.fs, r.kernel): r for r in [*runs(), *new_runs]}
    _write(RUNS, [asdict(last[key]) for key in sorted(last)])
    kept = {(a.fs, a.question, a.kernel): a for a in [*answers(), *new_answers]}
    _write(ANSWERS, [_without_defaults(asdict(kept[key])) for key in sorted(kept)])
    fresh = {(s.kernel, s.fs) for s in new_seen}
    old = [s for s in seen() if (s.kernel, s.fs) not in fresh]
    _write(STATES, [asdict(s) for s in sorted([*old, *new_seen], key=lambda s: (s.fs, s.kernel, s.lines))])


def save(path: Path, new_answers: list[Answer], new_seen: list[Seen], new_runs: list[Run]) -> None:
    """Write what was seen to a file of its own."""
    path.write_text(json.dumps([[asdict(entry) for entry in some] for some in (new_answers, new_seen, new_runs)]))


def take(path: Path) -> None:
    """Put into the ledger what `save` wrote, on another kernel perhaps."""
    some_answers, some_seen, *some_runs = json.loads(path.read_text())
    found = [Run(**entry) for entries in some_runs for entry in entries]
    add([Answer(**entry) for entry in some_answers], [Seen(**entry) for entry in some_seen], found)


def _without_defaults(entry: dict) -> dict:
    return entry if entry["shown"] else {key: entry[key] for key in ("kernel", "fs", "question", "images")}


def _write(path: Path, entries: list[dict]) -> None:
    """One entry a line, so that a change of one shows as one."""
    path.parent.mkdir(exist_ok=True)
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries)
    path.write_text(f"[\n{lines}\n]\n")


def tellings() -> Iterator[tuple[str, str, tuple[str, ...], int, bool, Image]]:
    """Every state of the ledger: kernel, row, workload, moment, state."""
    from tests.kernel.questions import QUESTIONS

    for answer in answers():
        if answer.state is not None:
            lines = QUESTIONS[answer.question].lines
            yield answer.kernel, answer.fs, lines, answer.line, answer.returned, image_of(answer.state)
    for entry in seen():
        for line, returned, state in entry.left:
            yield entry.kernel, entry.fs, tuple(entry.lines), line, returned, image_of(state)
