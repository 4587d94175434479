"""Hard faults in linked structures: wrong sizes, lists that lead to themselves or elsewhere, half-made directories.

Three further services in the shape of published ones: a cache of slabs with one list of all items, a list on
transactions, a hash table with a directory. Other than the twelve faults of `hard_faults`, these are met by a restart
only: while a service runs it answers from volatile memory, and goes on to add what is newer than the fault. `FAULTS`
are broken down and healed as those are.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hard_faults import Client, HardFault

NEWER = 60  # keys that are set after the fault


def _then_newer(*requests: str) -> Callable[[Path], None]:
    """Older keys, what goes wrong, and newer keys."""

    def trigger(path: Path) -> None:
        with Client(path) as client:
            client.ask(*(f"set older-{number} value" for number in range(NEWER)))
            client.ask(*requests)
            client.ask(*(f"set newer-{number} value" for number in range(NEWER)))

    return trigger


FAULTS = (
    HardFault("c1", "chain", "length larger than the entry", "panic", _then_newer("append older-30 " + "y" * 200)),
    HardFault("c2", "chain", "entry linked to itself", "hang", _then_newer("set self value", "first self")),
    HardFault("c3", "chain", "entry linked to the middle of another", "panic", _then_newer("blob blob-1 value")),
    HardFault("s1", "slabcache", "pieces without a size", "hang", _then_newer("resize 0")),
    HardFault("s2", "slabcache", "item linked to itself", "hang", _then_newer("set self value", "touch self")),
    HardFault("s3", "slabcache", "link to elsewhere", "crash", _then_newer("adjust older-30")),
    HardFault("s4", "slabcache", "length is believed", "crash", _then_newer(f"setlen huge {(1 << 32) - 10}:value")),
    HardFault("d1", "directory", "directory is half made", "panic", _then_newer("double")),
    HardFault("d2", "directory", "depth that is not there", "crash", _then_newer("deepen")),
    HardFault("d3", "directory", "entry beside its segment", "panic", _then_newer("split older-7")),
)
