"""The reference of what `import powercut` offers, from signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

import powercut

_WIDTH = 80

_SECTION = re.compile(r"^(Args|Returns|Attributes):$", re.MULTILINE)
_ITEM = re.compile(r"^    (\w+): ", re.MULTILINE)


def reference() -> str:
    """A section for each name."""
    return "\n\n".join(_section(name) for name in powercut.__all__)


def _signature(function: Callable[..., object]) -> str:
    """One line, or a line for each parameter where that is too long."""
    signature = inspect.signature(function)
    line = str(signature)
    if len(line) <= _WIDTH:
        return line
    keywords = [name for name, found in signature.parameters.items() if found.kind is found.KEYWORD_ONLY][:1]
    lines = [
        f"    *,\n    {found}" if name in keywords else f"    {found}" for name, found in signature.parameters.items()
    ]
    returned = line.rpartition(" -> ")[2]
    return "(\n" + ",\n".join(lines) + f",\n) -> {returned}"


def _section(name: str) -> str:
    function = getattr(powercut, name)
    signature = f"{name}{_signature(function)}".replace("'", "")
    text = _SECTION.sub(r"**\1**\n", inspect.getdoc(function) or "")
    text = _ITEM.sub(r"- `\1`: ", text)
    return f"## powercut.{name}\n\n```python\n{signature}\n```\n\n{re.sub(r'^    ', '', text, flags=re.MULTILINE)}"
