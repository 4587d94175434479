"""Settings: the defaults, what powercut.toml or pyproject.toml say, and what the command line says, in that order.

Before: a folder in which a run is started. After: one `Settings` value in which every field is set and has the right
type, or a `UsageError` that names the file, the key and the reason.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from powercut.errors import UsageError
from powercut.model.filesystem import DEFAULT

FILES = ("powercut.toml", "pyproject.toml")
_UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """Everything that can be set.

    Attributes:
        dir: the data folder, None for the current one.
        check: the command that judges a crash state; None for the built-in oracle.
        fs: file-system models: one, several with commas, or `all`.
        budget: how long to search, as 30s, 5m, 1h.
        max_states: how many states to judge at most.
        timeout: seconds after which a check counts as hung.
        workers: checks that run at the same time; 0 for one for each core.
        seed: makes the random part of the search repeatable.
        tear: let blocks tear into 512-byte sectors.
        scratch: folder for images, None for memory.
        output: folder for saved runs.
        namespaces: show checks the data folder at its own path; without, paths are substituted.
        stacks: record call stacks.
    """

    dir: str | None = None
    check: str | None = None
    fs: str = DEFAULT
    budget: str = "60s"
    max_states: int | None = None
    timeout: float = 10.0
    workers: int = 0
    seed: int = 0
    tear: bool = False
    scratch: str | None = None
    output: str = ".powercut"
    namespaces: bool = True
    stacks: bool = True


def load_settings(start: Path, given: dict[str, Any]) -> Settings:
    """Settings for a run started in a folder; `given` holds what the command line says (None: nothing)."""
    values = _from_files(start)
    values.update({key.replace("_", "-"): value for key, value in given.items() if value is not None})
    try:
        settings = msgspec.convert(values, Settings)
    except msgspec.ValidationError as error:
        raise UsageError("bad-setting", f"a setting is wrong: {error}.") from error
    seconds(settings.budget)
    if settings.timeout <= 0:
        raise UsageError("bad-setting", "a setting is wrong: timeout must be more than 0 seconds.")
    if settings.workers < 0 or (settings.max_states is not None and settings.max_states < 0):
        raise UsageError("bad-setting", "a setting is wrong: workers and max-states cannot be negative.")
    return settings


def _from_files(start: Path) -> dict[str, Any]:
    for name in FILES:
        path = start / name
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise UsageError("bad-settings-file", f"cannot read {path}: {error}.") from error
        table = content if name == "powercut.toml" else content.get("tool", {}).get("powercut")
        if table is None:
            continue
        try:
            msgspec.convert(table, Settings)
        except msgspec.ValidationError as error:
            raise UsageError("bad-settings-file", f"{path}: {error}.", _known(str(error))) from error
        return dict(table)
    return {}


def _known(error: str) -> str:
    if "unknown field" not in error:
        return ""
    return f"Known settings: {', '.join(field.replace('_', '-') for field in Settings.__struct_fields__)}."


def seconds(text: str) -> float:
    """A length of time as people write it: 30, 30s, 5m, 1h."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text)
    if match is None or match[2] not in _UNITS:
        raise UsageError("bad-budget", f"{text!r} is not a length of time.", "Write it like 30s, 5m or 1h.")
    return float(match[1]) * _UNITS[match[2]]
