"""Settings: the defaults, overridden by powercut.toml or pyproject.toml, overridden by the command line.

Before: a folder in which a run is started. After: one `Settings` value in which every field is set and has the right
type and a sensible value, or a `UsageError` that names the file, the key and the reason: a run that cannot go well is
refused before the program is started.
"""

from __future__ import annotations

import math
import re
import tomllib
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec

from powercut.errors import UsageError, suggestion
from powercut.findings.baseline import DEFAULT as BASELINE
from powercut.image.ignored import NONE, patterns_in
from powercut.model.filesystem import DEFAULT, file_systems
from powercut.model.memory import AUTO, memory
from powercut.states.strategy_order import strategies

FILES = ("powercut.toml", "pyproject.toml")
MOST_WORKERS = 1024  # more processes than that are a slip of the finger
_UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


class RaceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table `race`.

    Attributes:
        allow: the places whose data may be inconsistent after a crash, with reasons or without.
    """

    allow: dict[str, str] | list[str] = {}

    @property
    def reasons(self) -> dict[str, str]:
        """Places and reasons."""
        return self.allow if isinstance(self.allow, dict) else dict.fromkeys(self.allow, "no reason given")


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """Everything that can be set.

    Attributes:
        dir: the data folder; by default the current folder.
        any_folder: accept a data folder of the system, or your home folder, which are slips as a rule.
        check: the command that tests a crash state; by default the built-in check.
        fs: file-system models and groups, separated by commas; `linux` are the common ones, `all` is every one.
        memory: the model of mapped memory: auto, px86, eadr or page-cache.
        tracer: what to record: calls (system calls only), memory (also stores into mapped files), or auto.
        strategies: search strategies, separated by commas, or `all`.
        budget: how long to record and search, such as 30s, 5m or 1h; at least half of it is for the search.
        max_states: the largest number of states to test.
        timeout: seconds after which a check counts as hung.
        workers: checks to run in parallel; 0 means one per core.
        executor: where checks run: local (this machine) or ray (the nodes of a Ray cluster).
        ray_address: the Ray cluster; by default RAY_ADDRESS, or the cluster of this machine.
        seed: the seed of the random part of the search.
        cache: use cached verdicts of earlier runs; if false, run every check again and replace the cached verdicts.
        tear: let blocks tear into 512-byte sectors.
        scratch: the folder for crash images; by default in memory.
        output: the folder of saved runs.
        namespaces: show copies at the path of the data folder, in private mounts; if false, powercut replaces the path
            in arguments.
        stacks: record call stacks.
        runtimes: put agents into the environment, through which runtimes of other languages tell lines.
        lint: also run lint on the trace.
        ignore: names that are no data, as patterns separated by commas: programs and checks see them, but they are not
            tested; `default` stands for what tools make anew or own, `none` for nothing.
        equivalence: skip states that the check cannot tell apart: always, never, or (by default) as long as it saves
            time.
        fork_checks: start a check once and fork it for each state, where that is safe; if false, start it for each.
        baseline: the file of known findings, with reasons; it need not exist.
        race: for powercut race: the places that may be inconsistent.
    """

    dir: str | None = None
    any_folder: bool = False
    check: str | None = None
    fs: str = DEFAULT
    memory: str = AUTO.name
    tracer: Literal["auto", "calls", "memory"] = "auto"
    strategies: str = "all"
    budget: str = "60s"
    max_states: int | None = None
    timeout: float = 10.0
    workers: int = 0
    executor: Literal["local", "ray"] = "local"
    ray_address: str | None = None
    seed: int = 0
    cache: bool = True
    tear: bool = False
    scratch: str | None = None
    output: str = ".powercut"
    namespaces: bool = True
    stacks: bool = True
    runtimes: bool = True
    lint: bool = True
    ignore: str = "default"
    equivalence: bool | None = None
    fork_checks: bool = True
    baseline: str = BASELINE
    race: RaceSettings = RaceSettings()


_FIELDS = {field.encode_name: field for field in msgspec.structs.fields(Settings)}
_WORDS = (
    ("RaceSettings", 'a table like { allow = { "log.c:append" = "why" } }'),
    ("str", "text"),
    ("bool", "true or false"),
    ("int", "a whole number"),
    ("float", "a number"),
)


def load_settings(start: Path, given: dict[str, Any]) -> Settings:
    """Settings for a run started in a folder; `given` holds what the command line says (None: nothing)."""
    values = _from_files(start)
    named = {key.replace("_", "-"): value for key, value in given.items() if value is not None}
    spoken = {key: _plain(key, value) for key, value in named.items()}
    _check("bad-setting", "", spoken)
    settings = msgspec.convert(values | spoken, Settings)
    _check_names(settings)
    return settings


def check_settings(settings: Settings, slug: str, where: str) -> None:
    """Whether settings that were saved can be used; `where` names the file."""
    values = {field.encode_name: getattr(settings, field.name) for field in _FIELDS.values()}
    _check(slug, where, {key: value for key, value in values.items() if value is not None})
    _check_names(settings)


def _check_names(settings: Settings) -> None:
    """Whether everything that is named exists."""
    seconds(settings.budget)
    file_systems(settings.fs)
    memory(settings.memory)
    strategies(settings.strategies)


def _from_files(start: Path) -> dict[str, Any]:
    for name in FILES:
        path = start / name
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise UsageError("bad-settings-file", f"cannot read {path}: {why}.") from error
        table = content if name == "powercut.toml" else _section(content)
        if table is None:
            continue
        if not isinstance(table, dict):
            raise UsageError("bad-settings-file", f"{path}: [tool.powercut] must be a table.")
        values = {key: _plain(key, value) for key, value in table.items()}
        _check("bad-settings-file", f"{path}: ", values)
        return values
    return {}


def _section(content: dict[str, Any]) -> Any:
    """[tool.powercut] of a pyproject.toml, which may hold anything."""
    tool = content.get("tool")
    return tool.get("powercut") if isinstance(tool, dict) else None


def _plain(key: str, value: Any) -> Any:
    """TOML and Python have more than the text of the command line: fs = ["xfs", "btrfs"], budget = 30, paths."""
    if key == "ignore" and isinstance(value, list) and not value:
        return NONE
    if (
        key in ("fs", "strategies", "ignore")
        and isinstance(value, list)
        and all(isinstance(name, str) for name in value)
    ):
        return ",".join(value)
    if key == "budget" and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return str(value) if isinstance(value, Path) else value


def _check(slug: str, where: str, values: dict[str, Any]) -> None:
    """Whether every value can be that of its setting."""
    for key, value in values.items():
        if key not in _FIELDS:
            hint = suggestion(key.replace("_", "-"), _FIELDS, "Known settings")
            raise UsageError(slug, f"{where}unknown setting {key!r}.", hint)
        try:
            msgspec.convert(value, _FIELDS[key].type)
        except msgspec.ValidationError as error:
            raise UsageError(slug, f"{where}{key} must be {words_of(_FIELDS[key].type)}, not {value!r}.") from error
        wrong = _wrong(key, value)
        if wrong:
            raise UsageError(slug, f"{where}{key} {wrong}.")


def words_of(kind: Any) -> str:
    """What a setting may be."""
    if get_origin(kind) is Literal:
        *some, last = get_args(kind)
        return f"{', '.join(some)} or {last}"
    return next(words for name, words in _WORDS if name in str(kind))


def _wrong(key: str, value: Any) -> str:
    """What is wrong with a value of the right type; empty if nothing is."""
    if isinstance(value, str) and ("\0" in value or not value.strip()):
        return "is empty" if not value.strip() else "must not contain a NUL character"
    if key == "timeout" and not (value > 0 and math.isfinite(value)):
        return f"must be more than 0 seconds, not {value:g}"
    if key == "workers" and not 0 <= value <= MOST_WORKERS:
        return f"must be between 0 (one per core) and {MOST_WORKERS}, not {value}"
    if key == "ignore":
        try:
            patterns_in(value)
        except ValueError as error:
            return f"does not fit: {error}"
    if key == "max-states" and value < 0:
        return f"must not be negative, but is {value}"
    return ""


def seconds(text: str) -> float:
    """A length of time as people write it: 30, 30s, 5m, 1h."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text)
    if match is None or match[2] not in _UNITS or not math.isfinite(float(match[1])):
        raise UsageError("bad-budget", f"{text!r} is not a duration.", "Write it like 30s, 5m or 1h.")
    return float(match[1]) * _UNITS[match[2]]
