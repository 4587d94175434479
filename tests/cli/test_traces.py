"""`record`, `explore` and `show` on traces: good ones, broken ones, and files that are none."""

from __future__ import annotations

import os

import pytest

from tests.cli.kit import ROW, SAVE, World


@pytest.fixture
def traced(world: World) -> World:
    """A world with a trace `t`."""
    ended = world.run("record", "-o", "t", "--dir", "data", "--", "sh", "-c", SAVE)
    assert ended.code == 0, ended.err
    assert ended.err == "powercut: recording in a private copy of HERE/data\n"
    recorded, events, rest = ended.out.split(" ", 2)
    assert recorded == "Recorded"
    assert int(events) > 3
    assert rest == "events in t. Next: powercut explore t --check CMD\n"
    return world


def test_record_leaves_one_file(traced: World) -> None:
    assert sorted(path.name for path in traced.here.iterdir()) == ["check", "data", "t", "tmp"]


def test_record_overwrites_only_with_force_and_only_with_a_whole_trace(traced: World) -> None:
    before = (traced.here / "t").read_bytes()
    record = ["record", "-o", "t", "--dir", "data"]
    ended = traced.run(*record, "--", "sh", "-c", SAVE)
    assert (ended.err, ended.code) == (
        "powercut: HERE/t already exists. Use --force to overwrite it. [trace-exists]\n",
        2,
    )
    assert traced.run(*record, "--force", "--", "sh", "-c", f"{SAVE}; exit 1").code == 3
    assert traced.run(*record, "--force", "--", "nosuchprogram").code == 3
    assert (traced.here / "t").read_bytes() == before
    assert traced.run(*record, "--force", "--", "sh", "-c", SAVE).code == 0
    assert (traced.here / "t").read_bytes() != before  # process numbers and times at the least
    assert sorted(path.name for path in traced.here.iterdir()) == ["check", "data", "t", "tmp"]


def test_record_to_where_nothing_can_be_written(world: World) -> None:
    ended = world.run("record", "-o", "nowhere/t", "--dir", "data", "--", "sh", "-c", SAVE)
    message = "powercut: cannot write HERE/nowhere/t: HERE/nowhere is not a folder. [output-unwritable]\n"
    assert (ended.err, ended.code) == (message, 3)


def test_explore_a_trace_and_find_what_test_finds(traced: World) -> None:
    explored = traced.run("explore", "t", "--check", "sh check", "--fs", ROW)
    (traced.here / "t").unlink()
    tested = traced.test()
    assert (explored.code, tested.code) == (1, 1)
    assert explored.out.split()[0] == tested.out.split()[0]
    assert traced.run("replay", f"1/{explored.out.split()[0]}").code == 1  # the run has its own copy of the trace


def test_show_lists_a_trace(traced: World) -> None:
    ended = traced.run("show", "t")
    assert ended.code == 0
    assert ended.out.splitlines()[1:4] == ["dir: HERE/data", "tracer: ptrace 1", "exit: exited 0"]
    for words in ("snap_file    f to 3 bytes", "write        f.tmp 3 bytes at 0 'new'", "rename       f.tmp -> f"):
        assert words in ended.out
    assert r"stdout 'saved\n'" in ended.out


BROKEN = {
    "empty": (b"", "it does not start with a trace header"),
    "text": (b"no trace at all\n" * 100, "it does not start with a trace header"),
    "short": (b"PCUTTRAC", "it does not start with a trace header"),
    "newer": (b"PCUTTRAC\x02\0\0\0" + bytes(100), "it has format version 2, but this powercut reads version 1"),
    "sizes": (b"PCUTTRAC\x01\0\0\0" + bytes(100), "its record sizes do not fit its version"),
}


@pytest.mark.parametrize("kind", BROKEN)
@pytest.mark.parametrize("command", ["explore", "show"])
def test_broken_traces(world: World, kind: str, command: str) -> None:
    content, why = BROKEN[kind]
    (world.here / "t").write_bytes(content)
    ended = world.run(command, "t")
    message = f"powercut: cannot read the trace t: {why}. Record it again. [trace-broken]\n"
    assert (ended.err, ended.out, ended.code) == (message, "", 2)
    assert not (world.here / ".powercut").exists()


def test_no_trace(world: World) -> None:
    ended = world.run("explore", "t")
    message = "powercut: cannot read the trace t: No such file or directory. [trace-unreadable]\n"
    assert (ended.err, ended.code) == (message, 2)
    ended = world.run("explore", "data")
    message = "powercut: invalid value for 'TRACE': File 'data' is a directory. See powercut explore --help [usage]\n"
    assert (ended.err, ended.code) == (message, 2)


def test_a_truncated_trace_is_explored_as_far_as_it_goes(traced: World) -> None:
    """tests/unit/test_reader.py cuts it everywhere."""
    whole = (traced.here / "t").read_bytes()
    (traced.here / "t").write_bytes(whole[:-64])
    ended = traced.run("explore", "t", "--check", "ls")
    assert ended.code == 0
    assert ended.err == "powercut: warning: the trace t is truncated; powercut tests the part that is there\n"
    assert traced.run("show", "t").out.endswith("the trace was truncated here\n")


def test_explore_with_a_data_folder_that_is_gone(traced: World) -> None:
    traced.data.rename(traced.here / "elsewhere")
    ended = traced.run("explore", "t", "--check", "sh check")
    assert ended.code == 1
    assert ended.err.splitlines()[0] == (
        "powercut: warning: HERE/data does not exist on this machine; the check sees the images at another path"
    )
    assert not traced.data.exists()


@pytest.mark.parametrize("option", [("--max-states", "0"), ("--budget", "0s")])
def test_a_budget_of_nothing_covers_nothing(traced: World, option: tuple[str, str]) -> None:
    ended = traced.run("explore", "t", "--check", "sh check", *option)
    assert ended.code == 4
    assert ended.out.splitlines()[-1].startswith("Nothing tested. ")
    assert "The budget ended before any state was tested. " in ended.out


def test_a_trace_named_like_an_option_or_with_spaces(world: World) -> None:
    name = "my trace'1"
    ended = world.run("record", "-o", name, "--dir", "data", "--", "sh", "-c", SAVE)
    assert ended.out.endswith("""Next: powercut explore 'my trace'"'"'1' --check CMD\n""")
    assert world.run("explore", name, "--fs", ROW).code == 0


def test_record_over_a_link_or_a_special_file(world: World) -> None:
    (world.here / "link").symlink_to("nowhere")
    ended = world.run("record", "-o", "link", "--dir", "data", "--", "sh", "-c", SAVE)
    assert (ended.err, ended.code) == (
        "powercut: HERE/link already exists. Use --force to overwrite it. [trace-exists]\n",
        2,
    )
    os.mkfifo(world.here / "fifo")
    ended = world.run("record", "-o", "fifo", "--force", "--dir", "data", "--", "sh", "-c", SAVE)
    assert (ended.err, ended.code) == ("powercut: HERE/fifo is not a file. Choose another one. [trace-exists]\n", 2)
