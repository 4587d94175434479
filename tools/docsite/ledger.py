"""What real kernels were seen to leave, from the ledger of the kernel rig: the table of docs/models.md."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

from powercut.model.filesystem import FILE_SYSTEMS, file_systems

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.kernel import ledger
from tests.kernel.questions import QUESTIONS
from tests.kernel.wonder import allows


def reference() -> str:
    """A row for each question, a column for each file system that was recorded."""
    asked: dict[tuple[str, str], list[ledger.Answer]] = defaultdict(list)
    for answer in ledger.answers():
        asked[answer.question, answer.fs].append(answer)
    names = [name for name in FILE_SYSTEMS if any(fs == name for _, fs in asked)]
    kernels = sorted({answer.kernel for answer in ledger.answers()}, key=lambda name: [int(n) for n in name.split(".")])
    lines = [f"Kernels: {', '.join(kernels)}; where they differ, each is named.", ""]
    lines += [f"| can a power cut leave this? | {' | '.join(names)} | rule |", "|---" * (len(names) + 2) + "|"]
    for question in QUESTIONS.values():
        cells = [_cell(question.name, name, asked[question.name, name]) for name in names]
        lines.append(f"| {question.text} | {' | '.join(cells)} | {question.rule} |")
    return "\n".join(lines)


def _cell(question: str, fs: str, answers: list[ledger.Answer]) -> str:
    """What was seen, and what the model says where nothing was."""
    if not answers:
        return "not asked"
    shown = sum(answer.shown for answer in answers)
    images = sum(answer.images for answer in answers)
    if not shown:
        also = ", allowed" if allows(file_systems(fs, "page-cache")[0], QUESTIONS[question]) else ""
        return f"never ({images}){also}"
    where = [answer.kernel for answer in answers if answer.shown]
    only = f" on {', '.join(where)}" if len(where) < len(answers) else ""
    return f"**seen**{only} ({shown} of {images})"
