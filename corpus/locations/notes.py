"""Notes, each a file of its own. An index says which of them exist."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable


def traced(function: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(function)
    def wrapper(*args: object) -> None:
        function(*args)

    return wrapper


class Notes:
    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.count = 0

    def __enter__(self) -> Notes:
        self.index = os.open(f"{self.prefix}.index", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.fsync(self.index)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.index)

    @traced
    def add(self, text: str) -> None:
        self.count += 1
        with open(f"{self.prefix}.{self.count}", "w") as note:
            print(text, file=note)
            note.flush()  # LOST
        os.write(self.index, b"%d\n" % self.count)  # SURVIVED
        os.fsync(self.index)
