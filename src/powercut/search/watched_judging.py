"""Judging a state while watching what the oracle looks at, and asking it again where that is wanted.

Before: the folder holds the image of the job's state. After: a verdict, which is what an unwatched oracle says wherever
the two could differ: only a pass is taken from a watched run alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from xxhash import xxh3_128_digest

from powercut.image.folder import ImageFolder
from powercut.image.image import Image
from powercut.oracle.image_queries import ABSENT, Answers, Ask, Asked, UndecidableError
from powercut.oracle.observed_reads import Looks, NotUnderstoodError
from powercut.oracle.protocol import Oracle, Recorded, Told
from powercut.oracle.verdict import Outcome, Verdict
from powercut.search.decision_tree import says_the_same
from powercut.search.jobs import Job, Watched, Watching
from powercut.states.state import State


def words_told(told: Told) -> dict[int, bytes]:
    """The answers to questions about what the program had said."""
    return {Ask.PRINTED: xxh3_128_digest(told.printed), Ask.SENT: xxh3_128_digest(told.sent)}


class Watcher:
    """One job in one worker."""

    def __init__(
        self,
        oracle: Oracle,
        folder: ImageFolder,
        place: Path,
        image: Callable[[State], Image],
        begin: Callable[[], None],
    ) -> None:
        """`begin` is called before each run of the oracle, which may each take as long as one may."""
        self._oracle = oracle
        self._folder = folder
        self._place = place
        self._image = image
        self._begin = begin

    def judge(self, job: Job, told: Told) -> tuple[Verdict, Watched]:
        """Judge the image that the folder holds."""
        verdict, asked, why = self._watch(job, told)
        differs, plain = "", 0.0
        if job.looks is Watching.AGAIN or not verdict.passed or asked is None:
            start = time.monotonic()
            watched, verdict = verdict, self._ask_plainly(job, told)
            plain = time.monotonic() - start
            if asked is not None and not says_the_same(watched, verdict):
                differs = f"{watched.outcome.value} once, {verdict.outcome.value} another time"
            if verdict.passed and watched.outcome in (Outcome.CRASH, Outcome.HANG):
                verdict = watched  # the engine will ask again, and tell the user
        if job.looks is Watching.AGAIN and asked is not None and not differs:
            differs = self._ask_again(job, told, verdict, asked)
        return verdict, Watched(asked, why, differs, plain)

    def _ask_plainly(self, job: Job, told: Told) -> Verdict:
        self._folder.move_to(job.state)
        self._begin()
        return self._oracle.judge_anew(self._place, told, self._folder.collect)

    def _ask_again(self, job: Job, told: Told, before: Verdict, asked: Asked) -> str:
        """What is different when it is asked again."""
        self._folder.move_to(job.state)
        verdict, again, _ = self._watch(job, told)
        if verdict.outcome is Outcome.ERROR:
            return ""  # it could not be watched this time
        if not says_the_same(before, verdict):
            return f"{before.outcome.value} once, {verdict.outcome.value} another time"
        if again is not None and _there(again) != _there(asked) and _is_close(again) == _is_close(asked):
            return "it read different data each time"
        return ""

    def _watch(self, job: Job, told: Told) -> tuple[Verdict, Asked | None, str]:
        objects = self._folder.inodes()
        self._begin()
        verdict, recorded = self._oracle.judge_watched(self._place, told, self._folder.collect)
        if objects is None or recorded is None:
            return verdict, None, "the tracer failed"
        try:
            return verdict, self._follow(job, told, objects, recorded), ""
        except NotUnderstoodError as error:
            return verdict, None, str(error)
        except UndecidableError:
            return verdict, None, "the disk cannot hold everything in the image"

    def _follow(self, job: Job, told: Told, objects: Mapping[int, int], recorded: Recorded) -> Asked:
        answers = Answers(self._image(job.state), words_told(told))
        return Looks(objects, recorded.words, answers).follow(recorded.trace)


def _is_close(asked: Asked) -> bool:
    """Whether words of mapped files were seen, and not only pages."""
    return any(question[0] == Ask.WORDS for question, _ in asked)


def _there(asked: Asked) -> set[tuple[object, bytes]]:
    """What was read; names that stand for nothing, as those of new temporary files, are made up by chance."""
    return {(question, answer) for question, answer in asked if answer != ABSENT}
