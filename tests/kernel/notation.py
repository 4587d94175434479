"""States of a folder as short text, for people and the ledger: content as runs of equal bytes."""

from __future__ import annotations

from itertools import groupby

from tests.kernel.model import Image


def content_text(content: bytes) -> str:
    """A file's content: its size, and runs such as 4096xA; zeros are written as 0."""
    runs = [(chr(byte) if byte else "0", len(list(group))) for byte, group in groupby(content)]
    return " ".join(f"{count}x{byte}" for byte, count in runs)


def content_of(text: str) -> bytes:
    """The content that a text stands for."""
    parts = [part.split("x", 1) for part in text.split()]
    return b"".join((b"\0" if byte == "0" else byte.encode("latin-1")) * int(count) for count, byte in parts)


def state_text(image: Image) -> dict[str, str]:
    """A whole state: path -> `dir MODE`, `link TARGET`, or `file MODE CONTENT`, with attributes in brackets."""
    found = {}
    for path, (kind, *facts) in sorted(image):
        if kind == "link":
            found[path] = f"link {facts[0]}"
            continue
        names = ",".join(f"{name}={value.decode()}" for name, value in facts[1])
        content = f" {content_text(facts[2])}" if kind == "file" else ""
        found[path] = f"{kind} {facts[0]:o}{f' [{names}]' if names else ''}{content}".rstrip()
    return found


def image_of_text(state: dict[str, str]) -> Image:
    """The state that a text stands for."""
    return frozenset((path, _facts(text)) for path, text in state.items())


def _facts(text: str) -> tuple:
    kind, rest = text.split(" ", 1)
    if kind == "link":
        return ("link", rest)
    mode, _, rest = rest.partition(" ")
    names: tuple = ()
    if rest.startswith("["):
        inside, _, rest = rest[1:].partition("]")
        names = tuple((name, value.encode()) for name, _, value in (pair.partition("=") for pair in inside.split(",")))
    return (kind, int(mode, 8), names, content_of(rest)) if kind == "file" else (kind, int(mode, 8), names)
