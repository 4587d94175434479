"""Syncs that the tracer puts in: in front of the right calls, of the right files, known again in another run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from powercut.errors import UsageError
from powercut.findings.finding import AddedSync
from powercut.record.added_syncs import put_in, write_plan
from powercut.trace.layout import Fence, Flag, Flush, Kind

from .memory_kit import MAPPED, TOOL, needs_tool, opened
from .tracer_kit import Event, Recording, compile_c, record

SAVE = """
import os, sys
def save(number):
    with open("f.tmp", "w") as file:
        file.write("new")
    os.replace("f.tmp", "f")
    print("saved", number, flush=True)
for number in range(int(sys.argv[1])):
    save(number)
"""

PUT = r"""
static void put(int fd, int index, const char *text) {
    OK(write(fd, text, 3));
    OK(write(index, "i", 1));
}
static void *thread(void *fd) { OK(write(*(int *)fd, "new", 3)); return NULL; }
int main(int argc, char **argv) {
    int texts = must(open("texts", O_CREAT | O_WRONLY, 0600)), index = must(open("index", O_CREAT | O_WRONLY, 0600));
    if (argc > 1 && argv[1][0] == 't') {
        pthread_t other;
        pthread_create(&other, NULL, thread, &texts);
        pthread_join(other, NULL);
        OK(write(index, "i", 1));
    } else if (argc > 1) {
        if (fork() == 0) { OK(write(texts, "new", 3)); _exit(0); }
        wait(NULL);
        OK(write(index, "i", 1));
    } else {
        put(texts, index, "one");
        put(texts, index, "two");
    }
    return 0;
}
"""

FOLDERS = r"""
int main(void) {
    OK(mkdir("a", 0700)); OK(mkdir("b", 0700));
    close(must(open("a/f", O_CREAT | O_WRONLY, 0600)));
    OK(rename("a/f", "b/g"));
    OK(unlink("b/g"));
    OK(rmdir("a"));
    puts("done");
    return 0;
}
"""

REUSED = r"""
static void note(const char *name) {
    int fd = must(open(name, O_CREAT | O_WRONLY, 0600));
    OK(write(fd, "x", 1));
    close(fd);
}
int main(void) {
    note("a");
    OK(unlink("a"));
    close(must(open("b", O_CREAT | O_WRONLY, 0600)));
    puts("done");
    return 0;
}
"""

POOL = r"""
int main(int argc, char **argv) {
    uint64_t *pool = (uint64_t *)map_file("pool", 4096, 0, NULL);
    for (int i = 1; i <= 3; i++) {
        pool[8 * i] = 42;
        pool[8 * i + 1] = 43;
        pool[0] = i;
        if (argc > 1) OK(msync(pool, 4096, MS_SYNC));
    }
    puts("done");
    return 0;
}
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """An empty data folder."""
    folder = tmp_path.resolve() / "data"
    folder.mkdir()
    return folder


def again(first: Recording, command: Sequence[str], *syncs: AddedSync, options: Sequence[str] = ()) -> Recording:
    """The program once more, in an empty folder, with some syncs put in."""
    folder = first.folder.parent / "again"
    folder.mkdir()
    write_plan(folder.parent / "plan", first.trace, syncs)
    plan = ("--added", str(folder.parent / "plan"))
    return record(folder, command, *plan, *options, trace=folder.parent / "again.trace", stacks=True)


def numbers(recording: Recording, *kinds: Kind) -> list[int]:
    """The events of some kinds, by their numbers."""
    return recording.trace.of_kind(*kinds).tolist()


def story(recording: Recording, *kinds: Kind) -> list[str]:
    """What happened to which files; what was put in has a plus before it."""
    names = {event.inode: event.path2 or event.path for event in recording.events() if event.path is not None}
    return [_told(event, names) for event in recording.events(*kinds)]


def _told(event: Event, names: dict[int, bytes | None]) -> str:
    plus = "+" if event.flags & Flag.ADDED else ""
    name = names.get(event.inode) if event.inode else None
    return f"{plus}{event.kind.name.lower()} {(name or b'').decode()}".strip()


def test_python_each_time_the_program_comes_by(data: Path) -> None:
    (data.parent / "save.py").write_text(SAVE)
    program = [sys.executable, str(data.parent / "save.py")]
    first = record(data, [*program, "1"], stacks=True)
    (write,), (rename,) = numbers(first, Kind.WRITE), numbers(first, Kind.RENAME)
    said = numbers(first, Kind.OUTPUT)[-1]  # a print may be several calls; the sync belongs in front of all of them
    second = again(first, [*program, "2"], AddedSync("file", write, rename), AddedSync("directory", rename, said))
    once = ["write f", "+fsync f", "rename f", "+fsync"]
    assert [t for t in story(second) if t.partition(" ")[0] in ("write", "+fsync", "rename")] == once * 2
    added = [event for event in second.events(Kind.FSYNC) if not event.path]
    assert {event.inode for event in added} > {second.folder.stat().st_ino}
    assert put_in(second.trace) == 4
    kinds = [event.kind for event in second.events()]
    assert kinds[kinds.index(Kind.OUTPUT) - 1] is Kind.FSYNC


def test_a_line_is_one_place_whoever_calls_it(data: Path) -> None:
    program = [compile_c(data.parent, PUT, "-fno-inline")]
    first = record(data, program, stacks=True)
    text, index, *_ = numbers(first, Kind.WRITE)
    second = again(first, program, AddedSync("data", text, index))
    once = ["write texts", "+fdatasync texts", "write index"]
    assert story(second, Kind.WRITE, Kind.FDATASYNC) == once * 2
    (one, two) = (event for event in second.events(Kind.FDATASYNC))
    assert one.stack != two.stack  # that of the calls that they stand before


@pytest.mark.parametrize("way", ["thread", "process"])
def test_what_one_thread_or_process_wrote_is_due_for_another(data: Path, way: str) -> None:
    program = [compile_c(data.parent, PUT), way[0]]
    first = record(data, program, stacks=True)
    text, index = numbers(first, Kind.WRITE)
    second = again(first, program, AddedSync("data", text, index))
    assert story(second, Kind.WRITE, Kind.FDATASYNC) == ["write texts", "+fdatasync texts", "write index"]
    wrote, synced, indexed = second.events(Kind.WRITE, Kind.FDATASYNC)
    assert (synced.pid, synced.tid, synced.stack) == (indexed.pid, indexed.tid, indexed.stack)
    assert wrote.tid != indexed.tid


def test_right_behind_each_call(data: Path) -> None:
    program = [compile_c(data.parent, PUT, "-fno-inline")]
    first = record(data, program, stacks=True)
    text = numbers(first, Kind.WRITE)[0]
    second = again(first, program, AddedSync("file", text, text, after=True))
    assert story(second, Kind.WRITE, Kind.FSYNC) == ["write texts", "+fsync texts", "write index"] * 2


def test_the_folder_is_that_where_a_name_appeared_or_else_went(data: Path) -> None:
    program = [compile_c(data.parent, FOLDERS)]
    first = record(data, program, stacks=True)
    (said,) = numbers(first, Kind.OUTPUT)
    for kind, folder in ((Kind.RENAME, "b"), (Kind.UNLINK, "b"), (Kind.RMDIR, ""), (Kind.CREATE, "a")):
        (event,) = numbers(first, kind)
        second = again(first, program, AddedSync("directory", event, said))
        made = {path.decode(): event.inode for event in second.events(Kind.MKDIR) if (path := event.path)}
        made[""] = second.folder.stat().st_ino
        assert [event.inode for event in second.events(Kind.FSYNC)] == [made[folder]], kind
        (second.folder / "b").rmdir()
        second.folder.rmdir()


def test_a_new_file_owes_nothing_of_the_one_whose_number_it_has(data: Path) -> None:
    program = [compile_c(data.parent, REUSED)]
    first = record(data, program, stacks=True)
    (write,), (said,) = numbers(first, Kind.WRITE), numbers(first, Kind.OUTPUT)
    second = again(first, program, AddedSync("file", write, said))
    old, new = second.events(Kind.CREATE)
    assert [event.inode for event in second.events(Kind.FSYNC)] == ([] if old.inode == new.inode else [old.inode])


@needs_tool
def test_lines_are_flushed_and_fenced_before_a_store(data: Path) -> None:
    program = [compile_c(data.parent, MAPPED + POOL)]  # whose loop the compiler may unroll
    tool = ("--memory-tool", str(TOOL))
    first = opened(record(data, program, *tool, stacks=True))
    entry, word, count = numbers(first, Kind.STORE)[:3]
    syncs = [AddedSync("lines", entry, count), AddedSync("lines", word, count)]
    second = opened(again(first, program, *syncs, options=tool))
    flush, fence = ("flush", int(Flush.CLWB), Flag.ADDED), ("fence", int(Fence.SFENCE), Flag.ADDED)
    found = [
        ("store", event.offset, event.flags) if event.kind is Kind.STORE else _instruction(event)
        for event in second.events(Kind.STORE, Kind.FLUSH, Kind.FENCE)
    ]
    stores = [[("store", 64 * i, Flag(0)), ("store", 64 * i + 8, Flag(0))] for i in (1, 2, 3)]
    expected = [step for two in stores for step in (*two, flush, fence, ("store", 0, Flag(0)))]
    assert found[: len(expected)] == expected
    assert {event.offset for event in second.events(Kind.FLUSH)} == {64, 128, 192}


def _instruction(event: Event) -> tuple[str, int, Flag]:
    return event.kind.name.lower(), event.extra, event.flags


@needs_tool
def test_stores_are_synced_as_files_before_what_is_said(data: Path) -> None:
    program = [compile_c(data.parent, MAPPED + POOL, "-O0")]
    tool = ("--memory-tool", str(TOOL))
    first = opened(record(data, program, *tool, stacks=True))
    store, said = numbers(first, Kind.STORE)[-1], numbers(first, Kind.OUTPUT)[0]
    second = opened(again(first, program, AddedSync("data", store, said), options=tool))
    told = story(second, Kind.STORE, Kind.FDATASYNC, Kind.OUTPUT)
    assert told == ["store pool"] * 9 + ["+fdatasync pool", "output"]


@needs_tool
def test_a_store_can_be_what_a_file_must_be_synced_before(data: Path) -> None:
    program = [compile_c(data.parent, MAPPED + POOL, "-O0")]
    tool = ("--memory-tool", str(TOOL))
    first = opened(record(data, program, *tool, stacks=True))
    created, store = numbers(first, Kind.CREATE)[0], numbers(first, Kind.STORE)[0]
    second = opened(again(first, program, AddedSync("file", created, store), options=tool))
    told = story(second, Kind.CREATE, Kind.STORE, Kind.FSYNC)
    assert told == ["create pool", "+fsync pool", *["store pool"] * 9]


def test_plans_that_fit_nothing_are_refused(data: Path) -> None:
    program = [compile_c(data.parent, PUT)]
    first, bare = record(data, program, stacks=True), record(data, program, trace=data.parent / "bare")
    text, index, *_ = numbers(first, Kind.WRITE)
    plan = data.parent / "plan"
    for trace, sync, slug in (
        (first.trace, AddedSync("file", 10_000, index), "broken-run"),
        (first.trace, AddedSync("all", text, index), "broken-run"),
        (bare.trace, AddedSync("file", text, index), "no-stacks"),
    ):
        with pytest.raises(UsageError) as caught:
            write_plan(plan, trace, [sync])
        assert caught.value.slug == slug
    plan.write_text("sync file\nof what\n")
    failed = record(data, program, "--added", str(plan), stacks=True, trace=data.parent / "t", code=125)
    assert "cannot read the plan of syncs" in failed.stderr
