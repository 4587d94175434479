"""The names of the strategies, in their order, without what it takes to run them: settings are read at every start.

The order is said here and nowhere else: from likely to exhaustive. `strategies` has the function behind each name.
"""

from __future__ import annotations

from powercut.errors import UsageError, suggestion

STRATEGY_NAMES = (
    "one-missing",
    "only-guaranteed",
    "failure-points",
    "store-points",
    "one-early",
    "prefixes",
    "torn",
    "representatives",
    "pairs",
    "exhaustive",
    "samples",
)


def strategies(names: str) -> list[str]:
    """The strategies for a --strategies value: some with commas, or `all`; always in their order."""
    wanted = [part.strip() for part in names.split(",")] if names.strip() != "all" else list(STRATEGY_NAMES)
    for name in wanted:
        if name not in STRATEGY_NAMES:
            hint = suggestion(name, [*STRATEGY_NAMES, "all"])
            raise UsageError("unknown-strategy", f"there is no strategy {name!r}.", hint)
    return [name for name in STRATEGY_NAMES if name in wanted]
