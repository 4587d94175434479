"""The table of syncs, where `powercut syncs` has weighed those of this run's trace and left it beside that."""

from __future__ import annotations

import msgspec

from powercut.findings.finding import Location
from powercut.report.html.section import Material, Section
from powercut.runs.store import SYNCS
from powercut.syncs.sync_verdict import Need


class SavedSync(msgspec.Struct):
    """One sync, as the JSON report of `powercut syncs` has it."""

    need: Need
    call: str
    location: Location
    executions: int
    reason: str
    files: list[str] = []
    more_files: int = 0
    library: str | None = None
    caller: Location | None = None


class SavedTable(msgspec.Struct):
    """The whole table."""

    syncs: list[SavedSync]
    model: str = ""
    tested: int = 0
    broken: int = 0
    unfinished: bool = False


def section(material: Material) -> Section | None:
    """The table of a run that has one; what cannot be read is said."""
    try:
        table = msgspec.json.decode((material.room.folder / SYNCS).read_bytes(), type=SavedTable)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        material.room.missing.append(f"The table of syncs is missing: {error}")
        return None
    counts = [(need.value, sum(sync.need is need for sync in table.syncs)) for need in Need]
    return Section("syncs", "Syncs", len(table.syncs), {"table": table, "counts": counts})
