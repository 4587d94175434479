"""What a model says to a directed question: whether any of its states shows the outcome."""

from __future__ import annotations

from powercut.image.state_image import StateImage
from powercut.model.filesystem import FileSystem
from powercut.states.lattice import Lattice
from powercut.states.objects import ObjectKind
from powercut.states.state import State
from powercut.states.timeline import Timeline
from tests.kernel import questions
from tests.kernel.calls import is_background, story_of
from tests.kernel.rig import moment


def allows(row: FileSystem, question: questions.Question) -> bool:
    """Whether a row lets a power cut leave the outcome, at a moment that matters."""
    story = story_of(list(question.lines))
    timeline = Timeline(story.trace(), row)
    calls = [number for number, line in enumerate(question.lines) if not is_background(line)]
    moments = [
        moment(story, line, returned)
        for line in calls
        for returned in (False, True)
        if (line, returned) > (question.since, question.returned - 1)
    ]
    return any(
        question.shows(_facts(timeline, state)) for point in moments for state in Lattice(timeline, point).states()
    )


def _facts(timeline: Timeline, state: State) -> questions.State:
    image, found = StateImage(timeline, state), {}

    def walk(folder: int, prefix: str) -> None:
        for name, obj in image.entries(folder).items():
            path, kind = prefix + name.decode(), image.kind(obj)
            if kind is ObjectKind.FOLDER:
                found[path] = ("dir", image.mode(obj), ())
                walk(obj, path + "/")
            elif kind is ObjectKind.FILE:
                found[path] = ("file", image.mode(obj), (), image.read(obj, 0, image.size(obj)))
            else:
                found[path] = ("link", image.target(obj).decode())

    walk(0, "")
    return found
