"""The reference of the JSON report, from its schema."""

from __future__ import annotations

from typing import Any

from powercut.report.json_report import schema


def reference() -> str:
    """A table for each kind of object."""
    definitions: dict[str, dict[str, Any]] = schema()["$defs"]
    return "\n\n".join(_table(name, found) for name, found in definitions.items() if "properties" in found)


def _table(name: str, found: dict[str, Any]) -> str:
    rows = ["| field | kind |", "|---|---|"]
    rows += [f"| `{field}` | {_kind(value)} |" for field, value in found["properties"].items()]
    return "\n".join([f"## {name}", "", found.get("description", ""), "", *rows])


def _kind(value: dict[str, Any]) -> str:
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in value:
        return " or ".join(map(_kind, value["anyOf"]))
    if "enum" in value:
        return ", ".join(f"`{word}`" for word in value["enum"])
    if value.get("type") == "array" and isinstance(value.get("items"), dict):
        return f"array of {_kind(value['items'])}"
    return str(value.get("type", "any"))
