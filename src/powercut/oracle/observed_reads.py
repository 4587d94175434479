"""From what a check did to what it asked: the looks that the tracer saw, as questions about the image.

Before: the trace of a check that ran on the image of a state, and which inode stood for which object of the image. The
check may have moved, changed and removed all of it meanwhile. After: the questions whose answers determine everything
that the check was told by the data folder, or an error that says why that is not known.

Objects keep their inode wherever they are moved, and get their place from the name by which they were first found. What
the check made itself is not asked for: it follows from what it was told before.
"""

from __future__ import annotations

from collections.abc import Mapping

from powercut.oracle.image_queries import PAGE, TO_THE_END, WORD, Answer, Answers, Ask, Asked, Question
from powercut.states.tree import ROOT
from powercut.trace.layout import DATA, EXTRA, INODE, KIND, LENGTH, OFFSET, PATH, Kind
from powercut.trace.reader import Trace

MOST_PAGES = 1024  # in a row that are asked for one by one, as runs that touch a few more will ask, too
MOST_QUESTIONS = 5000  # of one run: answering more costs more than asking the check

_ABOUT = {Kind.LOOK_FACTS: Ask.FACTS, Kind.LOOK_LIST: Ask.LIST, Kind.LOOK_ATTRIBUTES: Ask.ATTRIBUTES}


class NotUnderstoodError(Exception):
    """What the check looked at is not known."""


class Looks:
    """Follows one run."""

    def __init__(self, objects: Mapping[int, int], words: Mapping[int, Ask], answers: Answers) -> None:
        """`objects`: inode -> object of the image; `words`: the files with what the program said, by inode."""
        self._objects = objects
        self._words = words
        self._answers = answers
        self._paths: dict[int, bytes] = {ROOT: b""}  # objects found so far -> where
        self._mapped: set[int] = set()
        self._cut: dict[int, int] = {}  # files that the check gave a size -> that; what lay behind is not asked for
        self._asked: dict[Question, Answer] = {}

    def follow(self, trace: Trace) -> Asked:
        """The questions of a run, in order, with their answers."""
        if trace.truncated:
            raise NotUnderstoodError("the tracer did not see its end")
        self._ask(Ask.NAME)
        for event in trace.written.tolist():
            kind = event[KIND]
            if kind == Kind.NOTE:
                raise NotUnderstoodError(trace.blob(event[DATA], event[LENGTH]).decode(errors="replace"))
            if kind == Kind.LOOK_NAME:
                self._look_up(event[INODE], trace.string(event[PATH]), event[EXTRA])
            elif kind == Kind.LOOK_REMAP:
                for obj in self._mapped:
                    self._ask_bytes(obj, 0, TO_THE_END)
            elif kind == Kind.LOOK_WORDS:
                self._look_at_words(event[INODE], event[OFFSET], trace.blob(event[DATA], event[LENGTH]))
            elif kind >= Kind.LOOK_DATA:
                self._look_at(kind, event[INODE], event[OFFSET], event[LENGTH])
        return list(self._asked.items())

    def _look_up(self, folder: int, name: bytes, found: int) -> None:
        self._hear(found)
        if folder in self._objects:
            above = self._path(self._objects[folder])
            path = above + b"/" + name if above else name
            self._ask(Ask.NAME, path)
            obj = self._answers.object_at(path)
            if obj is not None:
                self._paths.setdefault(obj, path)
        if found in self._objects:
            self._path(self._objects[found])

    def _look_at(self, kind: int, inode: int, offset: int, length: int) -> None:
        self._hear(inode)
        obj = self._objects.get(inode)
        if obj is None:
            return
        path = self._path(obj)
        if kind == Kind.LOOK_UNSURE:
            raise NotUnderstoodError(f"it asks for a property of {path!r} that images do not have")
        if kind == Kind.LOOK_CUT:
            self._cut[obj] = min(length, self._cut.get(obj, length))
        elif kind == Kind.LOOK_PAGES and length <= MOST_PAGES * PAGE:
            for start in range(offset, offset + length, PAGE):
                self._ask_bytes(obj, start, PAGE)
        elif kind in (Kind.LOOK_DATA, Kind.LOOK_MAP, Kind.LOOK_PAGES):
            if kind == Kind.LOOK_MAP:
                self._mapped.add(obj)
            self._ask_bytes(obj, offset, length)
        elif kind != Kind.LOOK_FACTS or obj not in self._cut:
            self._ask(_ABOUT[Kind(kind)], path)

    def _look_at_words(self, inode: int, offset: int, bits: bytes) -> None:
        self._hear(inode)
        obj = self._objects.get(inode)
        if obj is not None:
            kept = -(-max(0, self._cut.get(obj, TO_THE_END) - offset) // WORD)  # words before a cut
            words = int.from_bytes(bits, "little") & ((1 << min(kept, PAGE // WORD)) - 1)
            if words:
                self._ask(Ask.WORDS, self._path(obj), offset, words)

    def _ask_bytes(self, obj: int, offset: int, length: int) -> None:
        length = min(length, TO_THE_END, self._cut.get(obj, TO_THE_END) - offset)
        if length > 0:
            self._ask(Ask.DATA, self._path(obj), offset, length)

    def _hear(self, inode: int) -> None:
        """Whoever touches a file of words is told all of it."""
        if inode in self._words:
            self._ask(self._words[inode])

    def _path(self, obj: int) -> bytes:
        path = self._paths.get(obj)
        if path is None:
            raise NotUnderstoodError("it opened a file in a way the tracer did not see")
        return path

    def _ask(self, ask: Ask, path: bytes = b"", offset: int = 0, length: int = 0) -> None:
        question = (int(ask), path, offset, length)
        if question not in self._asked:
            if len(self._asked) >= MOST_QUESTIONS:
                raise NotUnderstoodError(f"it reads more than {MOST_QUESTIONS:,} places")
            self._asked[question] = self._answers(question)
