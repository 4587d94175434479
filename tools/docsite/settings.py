"""The reference of settings: names, kinds and defaults from the class, meanings from its docstring."""

from __future__ import annotations

import inspect
import re

import msgspec

from powercut.settings import Settings, words_of

_ATTRIBUTE = re.compile(r"^    (\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


def reference() -> str:
    """The table."""
    meanings = {name: " ".join(text.split()) for name, text in _ATTRIBUTE.findall(inspect.getdoc(Settings) or "")}
    rows = ["| setting | kind | default | meaning |", "|---|---|---|---|"]
    for field in msgspec.structs.fields(Settings):
        default = "" if field.default is None else f"`{_toml(field.default)}`"
        rows.append(f"| `{field.encode_name}` | {words_of(field.type)} | {default} | {meanings[field.name]} |")
    return "\n".join(rows)


def _toml(value: object) -> str:
    return msgspec.json.encode(value).decode()
