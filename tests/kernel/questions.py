"""Directed workloads: each asks a real file system whether a power cut can leave something, and the models, too.

A question names an outcome that is bad, or that a rule forbids. `ask` runs its workload in several ways and counts the
images at the moments that matter, and those of them that show the outcome. Numbers in brackets are the classes in which
kernels were first seen to break the rules of old.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.kernel.calls import letter

State = dict[str, tuple]


@dataclass(frozen=True, slots=True)
class Question:
    """One question.

    Attributes:
        name: in the ledger.
        text: what may be left, as a sentence of docs/models.md.
        lines: the workload.
        since: the line that must have been made; with `returned` it must have returned.
        shows: whether a state shows it.
        cell: the answer of a row that decides it.
    """

    name: str
    text: str
    lines: tuple[str, ...]
    since: int
    shows: Callable[[State], bool]
    returned: bool = False
    rule: str = ""


def content(state: State, path: str) -> bytes | None:
    """What a file holds, or None."""
    facts = state.get(path)
    return facts[3] if facts is not None and facts[0] == "file" else None


def size(state: State, path: str) -> int | None:
    """How long a file is, or None."""
    found = content(state, path)
    return None if found is None else len(found)


def mode(state: State, path: str) -> int | None:
    """The permission bits of a path, or None."""
    facts = state.get(path)
    return facts[1] if facts is not None else None


def _is(path: str, wanted: bytes) -> Callable[[State], bool]:
    return lambda state: content(state, path) == wanted


def _gone(path: str) -> Callable[[State], bool]:
    return lambda state: path not in state


OLD_A, OLD_B = b"@" * 5000, b"?" * 5000
A, B, C, D = (letter(number) for number in range(4))


def _q(
    name: str, text: str, lines: str, since: int, shows: Callable[[State], bool], rule: str, **more: bool
) -> Question:
    return Question(name, text, tuple(lines.split("; ")), since, shows, rule=rule, **more)


QUESTIONS = {
    question.name: question
    for question in (
        # What fsync, fdatasync and synchronous writes make durable.
        _q("fsync-name", "a new file was fsynced, and its name is lost",
           "create c; write c 0 100; fsync c", 2, _gone("c"), "R7", returned=True),
        _q("fsync-data", "a file was fsynced, and its data is lost",
           "create c; write c 0 9000; fsync c", 2, lambda s: content(s, "c") != B * 9000, "R7", returned=True),
        _q("fsync-rename", "a renamed file was fsynced, and has its old name",
           "rename a c; fsync c", 1, lambda s: "c" not in s, "R7", returned=True),
        _q("fsync-link", "a file was linked and fsynced, and the new name is lost",
           "link a c; fsync c", 1, _gone("c"), "R7", returned=True),
        _q("fsync-unlink", "one of two names was removed, the file fsynced, and the name is back",
           "link a c; fsync .; unlink a; fsync c", 3, lambda s: "a" in s, "R7", returned=True),
        _q("fsync-other", "a file was made, an unchanged one fsynced, and the new name is lost (2)",
           "chmod a 600; ~commit; create c; fsync a", 3, _gone("c"), "R7", returned=True),
        _q("fsync-changed", "a file was made, then another one changed and fsynced, and the new name is lost",
           "create c; chmod a 600; fsync a", 2, _gone("c"), "R2, R7", returned=True),
        _q("fsync-parent", "a file in a renamed folder was fsynced, and the folder has its old name",
           "mkdir t; create t/c; fsync t/c; rename t u; fsync u/c", 4, _gone("u"), "R7", returned=True),
        _q("fsync-new-parent", "a file in a new folder was fsynced, and is lost",
           "mkdir t; create t/c; fsync t/c", 2, _gone("t/c"), "R7", returned=True),
        _q("fsyncdir-name", "a file was made, its folder fsynced, and the name is lost",
           "create c; write c 0 100; fsync .", 2, _gone("c"), "R7", returned=True),
        _q("fsyncdir-data", "a file was written, only its folder fsynced, and the data is lost",
           "create c; write c 0 100; fsync .", 2, lambda s: "c" in s and content(s, "c") != B * 100, "R7",
           returned=True),
        _q("fsyncdir-below", "a file was made in a folder, the folder above fsynced, and the name is lost (2c)",
           "create d; ~commit; create s/c; fsync .", 3, _gone("s/c"), "R7", returned=True),
        _q("fdatasync-name", "a new empty file was fdatasynced, and its name is lost",
           "create c; fdatasync c", 1, _gone("c"), "R8", returned=True),
        _q("fdatasync-rename", "a renamed file was fdatasynced, and has its old name",
           "rename a c; fdatasync c", 1, _gone("c"), "R8", returned=True),
        _q("fdatasync-mode", "a mode was changed, the file fdatasynced, and the mode is the old one",
           "chmod a 600; fdatasync a", 1, lambda s: mode(s, "a") == 0o644, "R8", returned=True),
        _q("fdatasync-append", "an append was fdatasynced, and is lost",
           "write a 0 100 append; fdatasync a", 1, lambda s: size(s, "a") != 5100, "R8", returned=True),
        _q("dsync-before", "a plain write is lost, though an O_DSYNC append behind it returned (1)",
           "create c; write c 0 9000; write c 0 4 append; write c 0 4 dsync", 3,
           lambda s: content(s, "c") is not None and size(s, "c") < 9004, "R9", returned=True),
        _q("dsync-append", "data in front of an O_DSYNC append is zeros, though that append returned (1)",
           "create c; write c 0 9000; write c 9000 4 dsync", 2,
           lambda s: size(s, "c") == 9004 and content(s, "c")[:4096] == bytes(4096), "R9", returned=True),
        _q("sync-append", "data in front of an O_SYNC append is zeros, though that append returned (1)",
           "create c; write c 0 9000; write c 9000 4 sync", 2,
           lambda s: size(s, "c") == 9004 and content(s, "c")[:4096] == bytes(4096), "R9", returned=True),
        _q("dsync-short", "a file ends inside of a plain write, after an O_DSYNC write below it returned (11)",
           "create c; write c 4096 9000; write c 0 3 dsync", 2, lambda s: size(s, "c") == 4096, "R12", returned=True),
        _q("dsync-end", "the end of a write with O_DSYNC is lost after it returned: a longer size was on its way",
           "write b 8192 12288; write b 4 5000 dsync", 1, lambda s: size(s, "b") == 5000, "R9", returned=True),
        _q("dsync-own", "what was written with O_DSYNC is lost after it returned",
           "write a 0 100 dsync", 0, lambda s: content(s, "a")[:100] != A * 100, "R9", returned=True),
        _q("msync-own", "a store was synced by msync, and is lost",
           "store a 0 8; msync a 0 4096", 1, lambda s: content(s, "a")[:8] != A * 8, "R9", returned=True),
        _q("msync-other", "a store to another page is lost after msync",
           "store a 4096 8; msync a 0 4096", 1, lambda s: content(s, "a")[4096:4104] == b"@" * 8, "R9", returned=True),
        _q("syncfs", "something is lost after syncfs",
           "create c; write c 0 9000; write a 0 100; rename b d; syncfs", 4,
           lambda s: content(s, "c") != B * 9000 or content(s, "a")[:100] != C * 100 or "b" in s, "R9", returned=True),
        _q("syncfs-overwrite", "data that was written over old data is lost after syncfs",
           "write a 0 100; syncfs", 1, lambda s: content(s, "a")[:1] == b"@", "R9", returned=True),
        _q("range-sync", "a write is lost after sync_file_range with all its flags returned",
           "write a 0 100; ~writeback a 0 0 wait; chmod b 600", 2, lambda s: content(s, "a")[:1] == b"@", "R9"),
        _q("direct", "a write with O_DIRECT is lost after it returned",
           "create c; write c 0 4096 direct", 1, lambda s: content(s, "c") != B * 4096, "R9", returned=True),
        # Order.
        _q("order-names", "of two new files, the later name survives alone",
           "create c; create d; ~commit", 1, lambda s: "d" in s and "c" not in s, "R2"),
        _q("order-names-fsync", "of two new files, the later one was fsynced, and survives alone",
           "create c; create d; fsync d", 1, lambda s: "d" in s and "c" not in s, "R2"),
        _q("order-unlink", "a removal survives, and the creation before it does not",
           "create c; unlink a; ~commit", 1, lambda s: "a" not in s and "c" not in s, "R2"),
        _q("order-data", "the later of two overwrites survives alone",
           "write a 0 100; write b 0 100; ~writeback b 0 0 wait; ~commit", 1,
           lambda s: content(s, "b")[:1] == B and content(s, "a")[:1] == b"@", "R1"),
        _q("order-in-block", "of two writes to one block, the later one survives alone",
           "write a 0 100; write a 200 100; ~writeback a 0 0 wait; ~commit", 1,
           lambda s: content(s, "a")[200:201] == B and content(s, "a")[:1] == b"@", "R1"),
        _q("torn-write", "one write of two blocks survives in half (7b)",
           "write a 0 5000; ~writeback a 4096 4096 wait; ~commit; ~writeback a 0 0 wait", 0,
           lambda s: content(s, "a")[:1] == b"@" and content(s, "a")[4999:] == A, "`piece`"),
        _q("torn-block", "one write inside of a block survives in half",
           "write a 0 4096; ~writeback a 0 0 wait; ~commit", 0,
           lambda s: len(set(content(s, "a")[:4096])) > 1, "`piece`"),
        # Renames.
        _q("rename-both", "a file renamed within its folder has both names",
           "rename a c; fsync .", 0, lambda s: "a" in s and "c" in s, "`rename`"),
        _q("rename-none", "a renamed file has neither name",
           "rename a s/a; fsync s; fsync .", 0, lambda s: "a" not in s and "s/a" not in s, "`rename`"),
        _q("rename-across", "a file renamed from folder to folder has both names, the new folder fsynced (8)",
           "rename a s/a; fsync s", 1, lambda s: "a" in s and "s/a" in s, "`rename`", returned=True),
        _q("rename-back", "a removed name is back beside the name that its successor was renamed to and fsynced (9)",
           "unlink a; create a; rename a c; fsync c", 3, lambda s: content(s, "a") == OLD_A and "c" in s, "R7",
           returned=True),
        _q("exchange-half", "two exchanged names stand for the same file",
           "exchange a b; fsync .", 0, lambda s: content(s, "a") == content(s, "b"), "`rename`"),
        _q("folder-both", "a folder renamed into another one is in both",
           "mkdir t; fsync .; rename t s/t; fsync s", 2, lambda s: "t" in s and "s/t" in s, "`rename`"),
        _q("replace-empty", "a file was replaced by rename, without fsync, and is empty or zeros",
           "create c; write c 0 9000; rename c a; ~commit", 2,
           lambda s: "c" not in s and content(s, "a") in (b"", bytes(9000)), "R6"),
        _q("replace-old", "a file was replaced by rename, without fsync, and is the old one after others' syncs",
           "create c; write c 0 9000; rename c a; ~fsync; chmod b 600", 4, _is("a", OLD_A), "R2"),
        _q("replace-allocated", "a file that was preallocated replaced another one, and is zeros (3)",
           "create c; falloc c 0 5000; write c 0 5000; rename c a; ~commit", 3, _is("a", bytes(5000)), "R6"),
        _q("replace-overwritten", "a file that was overwritten in place replaced another one, and is as before (3b)",
           "write b 0 5000; rename b a; ~commit", 1, _is("a", OLD_B), "R6"),
        _q("replace-appended", "a file that was appended to replaced another one, and ends in zeros (3c)",
           "write b 5000 100; rename b a; ~commit", 1, _is("a", OLD_B + bytes(100)), "R6"),
        _q("replace-rewritten", "a file was written twice and replaced another one; its first version is left (3d)",
           "create c; write c 0 5000; ~writeback c 0 0 wait; write c 0 5000; rename c a; ~commit", 4,
           _is("a", B * 5000), "R6"),
        # Sizes, truncates, holes.
        _q("append-zeros", "a file has grown, and what was appended is zeros (7)",
           "create c; write c 0 4096; ~writeback c 0 0; write c 0 4096 append; ~commit", 3,
           lambda s: size(s, "c") == 8192 and content(s, "c")[4096:] == bytes(4096), "`exposed`"),
        _q("append-lost", "an append without sync is lost after another program's sync",
           "write a 0 9000 append; ~fsync; chmod b 600", 2, lambda s: content(s, "a") == OLD_A, "R2"),
        _q("stale", "a file holds bytes that nobody wrote to it",
           "write a 0 9000; create c; ~writeback a 0 0 wait; unlink a; ~commit; write c 0 9000; ~writeback c 4096 0; "
           "~commit", 5,
           lambda s: bool(set(content(s, "c") or b"") & set(b"@A")), "`exposed`"),
        _q("cut-zeroed", "a file was cut, has its old length, and zeros where it was cut (4)",
           "truncate a 2; ~writeback a 0 0 wait; ~commit", 0,
           lambda s: size(s, "a") == 5000 and content(s, "a")[:4096] == b"@@" + bytes(4094), "R11"),
        _q("cut-data", "bytes that were written after a truncate survive without it (5)",
           "truncate a 4096; write a 0 100; ~writeback a 0 0 wait; ~commit", 1,
           lambda s: size(s, "a") == 5000 and content(s, "a")[:1] == B, "R5"),
        _q("cut-freed", "bytes written to a block that a truncate had freed survive without the truncate",
           "truncate a 0; write a 0 100; ~writeback a 0 0 wait; ~commit", 1,
           lambda s: size(s, "a") == 5000 and content(s, "a")[:1] == B, "R5"),
        _q("cut-old-bytes", "a file was cut to nothing, written, renamed; it has the new length and the OLD bytes (10)",
           "truncate b 0; write b 0 9; rename b a; fsync .", 2, _is("a", b"?" * 9), "`truncate`"),
        _q("cut-grown-old-bytes", "a file was cut, then written far behind its end; the bytes cut off are back",
           "truncate a 2; write a 8192 100 dsync; ~commit", 1,
           lambda s: size(s, "a") == 8292 and content(s, "a")[2:4096] == b"@" * 4094, "`truncate`"),
        _q("hole-half", "of a hole over parts of two blocks, one part is zeros and the other is not (6)",
           "falloc a 1 4096 punch; ~writeback a 0 4096 wait; ~commit; ~writeback a 0 0 wait", 0,
           lambda s: (content(s, "a")[1:2] == b"\0") != (content(s, "a")[4096:4097] == b"\0"), "R11"),
        _q("hole-lost", "a hole inside of a block is lost, and a file that was made and fsynced after it is there (6)",
           "falloc a 0 2 punch; create c; fsync c", 2, lambda s: "c" in s and content(s, "a")[:2] == b"@@", "R11",
           returned=True),
        _q("falloc-size", "a file was made longer by fallocate, and has its old length after a later file was fsynced",
           "falloc a 0 9000; create c; fsync c", 2, lambda s: size(s, "a") == 5000, "`allocation_in_journal`",
           returned=True),
    )
}  # fmt: skip
