"""The decision tree of a check: which question it asks next after which answers, and what it says in the end.

A run of the check is a path from the root to a leaf. A state whose image gives the same answers all along a path is
judged by its leaf. Checks that do not always ask in the same order, as those with threads do, have several questions at
a node; each path is true by itself, so the order does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from powercut.oracle.image_queries import Answer, Question
from powercut.oracle.verdict import Verdict

MOST_NODES = 200_000  # about 100 MB
MOST_ORDERS = 8  # questions at one node


class _Node:
    """A point in runs that went alike so far."""

    __slots__ = ("branches", "other", "question", "verdict")

    def __init__(self) -> None:
        self.question: Question | None = None
        self.branches: dict[Answer, _Node] = {}
        self.other: _Node | None = None  # the same point, with another question
        self.verdict: Verdict | None = None


class DecisionTree:
    """All runs that were watched."""

    def __init__(self) -> None:
        self._root = _Node()
        self._nodes = 1

    @property
    def full(self) -> bool:
        """Whether there is no room for more."""
        return self._nodes >= MOST_NODES

    def find(self, answers: Callable[[Question], Answer]) -> Verdict | None:
        """The verdict that follows from the answers, if any does."""
        waiting: list[_Node] = [self._root]
        while waiting:
            node: _Node | None = waiting.pop()
            while node is not None:
                if node.verdict is not None:
                    return node.verdict
                if node.other is not None:
                    waiting.append(node.other)
                node = node.branches.get(answers(node.question)) if node.question is not None else None
        return None

    def learn(self, asked: Sequence[tuple[Question, Answer]], verdict: Verdict) -> bool:
        """Add a run; False if one that was told the same said something else."""
        node = self._root
        for question, answer in asked:
            if node.verdict is not None:
                break
            found = self._with_question(node, question)
            if found is None or self.full:
                return True
            after = found.branches.get(answer)
            if after is None:
                after = found.branches[answer] = _Node()
                self._nodes += 1
            node = after
        if node.verdict is None:
            node.verdict = verdict
        return says_the_same(node.verdict, verdict)

    def _with_question(self, node: _Node, question: Question) -> _Node | None:
        for _ in range(MOST_ORDERS):
            if node.question is None:
                node.question = question
            if node.question == question:
                return node
            if node.other is None:
                node.other = _Node()
                self._nodes += 1
            node = node.other
        return None


def says_the_same(one: Verdict, other: Verdict) -> bool:
    """Whether two verdicts mean the same; what was printed may differ."""
    return (one.outcome, one.code) == (other.outcome, other.code)
