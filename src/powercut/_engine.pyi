"""The C extension: system calls and hot loops that Python lacks (native/engine)."""

from collections.abc import Callable
from os import PathLike

_Path = str | bytes | PathLike[str]

def spawn(
    path: bytes,
    argv: list[bytes],
    env: list[bytes],
    cwd: bytes,
    stdin_fd: int,
    output_fd: int,
    timeout: float,
    tick: Callable[[], object] | None,
    /,
) -> tuple[str, int, float, bytes]:
    """Run a program in a new process group and kill all that is left of it; only for processes without other children.

    Returns (kind, code, seconds, end of the output): kind is "exit" with the status, "signal" with its number,
    "timeout", or "error" with errno when it could not start. The output file is emptied. ``tick`` is called every
    few milliseconds while the program runs.
    """

def reap_strays() -> int:
    """Kill and reap every child of this process; how many there were."""

def adopt_orphans() -> None:
    """Become the parent of orphaned descendants (child subreaper)."""

def die_with_parent(parent: int, /) -> None:
    """End this process, and a program that it runs, soon after the thread that forked it ends."""

def watch_open() -> int:
    """A new non-blocking inotify descriptor."""

def watch_add(fd: int, path: bytes, mask: int, /) -> int:
    """Watch a folder; its watch number."""

def watch_remove(fd: int, watch: int, /) -> None:
    """Stop watching; a watch that is gone already is fine."""

def watch_read(fd: int, into: dict[tuple[int, bytes], int], /) -> int:
    """Fold all waiting events into ``{(watch, name): mask}``; how many there were."""

def enter_view(source: _Path, target: _Path, /) -> None:
    """Enter a private mount namespace in which ``target`` shows ``source``."""

def bind_mount(source: _Path, target: _Path, /) -> None:
    """Show ``source`` at ``target`` in this mount namespace."""

def mount_tmpfs(path: _Path, options: str, /) -> None:
    """Mount a new tmpfs at ``path`` in this mount namespace."""

def can_enter_view() -> tuple[bool, str]:
    """Whether this process could enter a private view, and the reason when it could not."""

def install_filter() -> None:
    """Install the tracer's system-call filter in this process."""
