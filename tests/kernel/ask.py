"""Asking a real file system a directed question (questions.py): how many images show the outcome."""

from __future__ import annotations

import random
from dataclasses import replace

from tests.kernel.disks import Bench
from tests.kernel.ledger import Answer, difference, kernel
from tests.kernel.model import read_folder
from tests.kernel.questions import Question
from tests.kernel.rig import Plan, cuts, last_call, record, survivors

WAYS = [Plan((), hold, slow, seed) for seed in range(2) for hold in (False, True) for slow in (False, True)]
MOST_IMAGES = 30  # of one run


def ask(bench: Bench, fs: str, question: Question, ways: int = len(WAYS)) -> Answer:
    """Run the workload of a question in several ways, and look at what power cuts leave."""
    answer = Answer(kernel(), fs, question.name, 0)
    for way in WAYS[:ways]:
        plan = replace(way, lines=question.lines)
        log, _ = record(bench, plan)
        for cut in cuts(log, MOST_IMAGES, random.Random(plan.seed)):
            moments = [last_call(plan.lines, mark) for mark in cut.moments]
            after = [m for m in moments if m > (question.since, question.returned - 1)]
            if not after:
                continue
            image = bench.look(survivors(log, cut), read_folder)
            answer.images += 1
            if question.shows(dict(image)):
                answer.shown += 1
                if answer.state is None:
                    (answer.line, answer.returned), answer.state = max(after), difference(image)
    return answer
