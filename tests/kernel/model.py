"""What powercut's model says of a workload: whether a state that a kernel left is possible at a moment."""

from __future__ import annotations

import os
from pathlib import Path

from powercut.matching.matcher import Matcher
from powercut.matching.observed import Node, ObservedImage, file_node, folder_node, link_node
from powercut.model.filesystem import FileSystem
from powercut.states.timeline import Timeline
from tests.kernel.calls import Story

Image = frozenset  # of (path, facts), as `read_folder` makes them


def read_folder(folder: Path) -> Image:
    """What a folder holds."""
    found: dict[str, tuple] = {}

    def walk(path: str, prefix: str) -> None:
        for entry in os.scandir(path):
            name = prefix + entry.name
            if entry.is_symlink():
                found[name] = ("link", os.readlink(entry.path))
                continue
            mode, attributes = entry.stat().st_mode & 0o7777, _attributes(entry.path)
            if entry.is_dir():
                found[name] = ("dir", mode, attributes)
                walk(entry.path, name + "/")
            else:
                with open(entry.path, "rb") as file:
                    found[name] = ("file", mode, attributes, file.read())

    walk(str(folder), "")
    found["."] = ("dir", os.stat(folder).st_mode & 0o7777, _attributes(str(folder)))
    return frozenset(found.items())


def _attributes(path: str) -> tuple:
    names = [name for name in os.listxattr(path, follow_symlinks=False) if name.startswith("user.")]
    return tuple(sorted((name, os.getxattr(path, name)) for name in names))


def as_observed(image: Image) -> ObservedImage:
    """What the matcher is asked."""
    nodes: dict[bytes, Node] = {}
    for path, (kind, *facts) in image:
        if kind == "link":
            nodes[path.encode()] = link_node(facts[0].encode())
            continue
        attributes = {name.encode(): value for name, value in facts[1]}
        node = file_node(facts[2], facts[0], attributes) if kind == "file" else folder_node(facts[0], attributes)
        nodes[b"" if path == "." else path.encode()] = node
    return ObservedImage(nodes)


class Model:
    """One row's view of one workload."""

    def __init__(self, story: Story, row: FileSystem) -> None:
        timeline = Timeline(story.trace(), row)
        assert not timeline.notes, timeline.notes
        self._matcher = Matcher(timeline)

    def possible(self, image: Image, time: int) -> bool | None:
        """Whether a crash at a time may leave an image; None if the matcher gives up."""
        time = max(time, self._matcher.first)
        answer = self._matcher.match(as_observed(image), time, time, all_moments=False)
        return answer.possible if answer.decided else None
