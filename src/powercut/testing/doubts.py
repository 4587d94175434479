"""States of which the check did not say one thing: kept with the run, and told with the way to see them.

Before: a search that has ended. After: `powercut replay RUN/doubt-N` runs the check on such a state again, and with
--image writes the files that it saw. What is told says whether anything of the result may be relied on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from powercut.findings.finding import Doubt
from powercut.findings.saved_timeline import saved_state
from powercut.printable import counted
from powercut.search.doubtful_states import Doubtful, DoubtfulStates
from powercut.states.timeline import Timeline

_AGAIN = "Look at that state: powercut replay {}/{}{} --image DIR"
_STEADY = "Make the check depend on nothing but the folder and the output: no clock, chance or files elsewhere"
_HUNG = "nobody knows what it would say, and that is no pass (exit code 4). Give a shorter --timeout"


def doubts_of(timelines: Sequence[Timeline], doubtful: DoubtfulStates) -> list[Doubt]:
    """Those of a search, as its run keeps them."""
    told = [(one, f"the check says {one.said}") for one in doubtful.contradicted]
    told += [(one, "the check did not end before the budget was over") for one in doubtful.unanswered]
    return [_doubt(timelines, number, one, words) for number, (one, words) in enumerate(told, 1)]


def _doubt(timelines: Sequence[Timeline], number: int, one: Doubtful, words: str) -> Doubt:
    return Doubt(f"doubt-{number}", words, saved_state(timelines[one.number], one.state))


def warnings_of(doubtful: DoubtfulStates, doubts: Sequence[Doubt], run: str, option: str) -> Iterator[str]:
    """What the user should know of them; `run` is the name of the run, `option` what a command needs to find it."""
    if doubtful.contradicted:
        said = doubtful.contradicted[0].said
        again = _AGAIN.format(run, doubts[0].id, option)
        words = f"the check contradicts itself on one crash state ({said}), so its verdicts are uncertain"
        yield f"{words}. {again}. {_STEADY}"
    if doubtful.overdue:
        again = ""
        if doubtful.unanswered:
            again = ". " + _AGAIN.format(run, doubts[len(doubtful.contradicted)].id, option)
        running = f"the check was still running on {counted(doubtful.overdue, 'state')} when the budget was over"
        yield f"{running}, far longer than before: {_HUNG}{again}"
