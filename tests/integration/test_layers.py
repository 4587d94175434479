"""A large data folder is shown without copying it: what nothing touched is there, and nothing of it is kept."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import powercut
from powercut import _engine
from powercut.findings.finding import Finding
from powercut.image.survey import Survey
from powercut.runs.replay import replay
from powercut.runs.store import SavedRun
from powercut.search.events import Said
from powercut.trace.layout import Kind
from powercut.trace.reader import Trace
from tests.needs import needs_memory_tool, needs_root, needs_views

pytestmark = needs_views

FILES = 300  # more than are copied
LOST = "state is '\\x00\\x00\\x00'"
SETTINGS = {"fs": "xfs", "lint": False, "workers": 2}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with many files, which is the current one, and is as it was when the test is over."""
    folder = tmp_path / "project"
    (folder / "library/deep").mkdir(parents=True)
    (folder / "db").mkdir()
    for number in range(FILES):
        (folder / "library/deep" / f"{number}.txt").write_text(f"{number}\n")
    (folder / "db/state").write_text("old")
    (folder / "db/link").symlink_to("state")
    (folder / "notes").write_text("untouched")
    os.link(folder / "notes", folder / "more-notes")
    monkeypatch.chdir(folder)
    before = looks(folder)
    yield folder
    assert looks(folder) == before


def looks(folder: Path) -> dict[str, tuple[object, ...]]:
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(folder.rglob("*")):
        if ".powercut" not in path.parts:
            status = path.lstat()
            content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            times = () if path == folder else (status.st_mtime_ns,)
            found[str(path)] = (content, status.st_mode, status.st_uid, status.st_nlink, *times)
    return found


def save(folder: Path) -> None:
    (folder / "db/state.new").write_text("new")
    os.replace(folder / "db/state.new", folder / "db/state")


def check(folder: Path) -> None:
    """Everything is there; then it is all spoilt, which must not be there the next time."""
    deep = folder / "library/deep"
    assert not (folder / ".powercut").exists(), "runs are shown"
    assert sorted(path.name for path in folder.iterdir()) == ["db", "library", "more-notes", "notes"], "other names"
    assert len(list(deep.iterdir())) == FILES, "files are missing"
    assert (folder / "notes").read_text() == (folder / "more-notes").read_text() == "untouched", "notes changed"
    assert (deep / "7.txt").read_text() == "7\n", "a file changed"
    found = (folder / "db/state").read_text()
    (folder / "notes").write_text("spoilt")
    (deep / "7.txt").write_text("spoilt")
    (deep / "8.txt").unlink()
    (deep / "more").mkdir()
    (deep / "more/file").write_text("x")
    (folder / "db/garbage").write_text("x")
    assert found in ("old", "new"), f"state is {found!r}"


def run_in(project: Path) -> SavedRun:
    return powercut.explore(lambda: save(project), check, **SETTINGS)


def only(run: SavedRun) -> Finding:
    assert [finding.kind.value for finding in run.findings] == ["unpersisted"]
    return run.findings[0]


def trace_of(project: Path) -> Trace:
    return Trace.open(next((project / ".powercut/runs").glob("*/trace")))


def test_checks_see_all_and_harm_nothing(project: Path) -> None:
    run = run_in(project)
    assert LOST in only(run).output
    assert run.states["tested"] > 2


def test_states_that_a_check_cannot_tell_apart_need_no_run(project: Path) -> None:
    """Also where it looks at what the program did not touch; the findings are the same."""
    (project.parent / "check.sh").write_text(
        "test `ls | wc -l` = 4 && test `ls library/deep | wc -l` = 300 && read note < notes;"
        " test -e db/other && test `cat library/deep/7.txt` = 7;"
        "case `cat db/state` in old|new) exit 0;; *) exit 1;; esac"
    )
    program = (
        "import os; [open(f'db/{name}', 'w').write(name) for name in ('other', 'more', 'third')];"
        "open('db/state.new', 'w').write('new'); os.replace('db/state.new', 'db/state')"
    )
    runs = [
        powercut.explore(
            [sys.executable, "-c", program],
            f"sh {project.parent}/check.sh",
            equivalence=watched,
            cache=False,
            **SETTINGS,
        )
        for watched in (True, False)
    ]
    assert [finding.id for finding in runs[0].findings] == [finding.id for finding in runs[1].findings] != []
    assert runs[0].states["equivalent"] > 0
    assert not any("could not trace" in note for run in runs for note in run.notes)


def test_the_trace_holds_what_was_touched(project: Path) -> None:
    run_in(project)
    trace = trace_of(project)
    snapshot = [event for event in trace.written.tolist() if event[0] <= Kind.SNAP_OTHER]
    assert {trace.string(event[-2]) for event in snapshot if event[0] != Kind.SNAP_DATA} == {b"", b"db", b"db/state"}
    assert Path(trace.name).stat().st_size < 1 << 20
    assert trace.rest is not None


def test_a_folder_of_which_nearly_all_is_touched_is_shown_without_layers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each image under layers costs more; they are for what the program leaves alone."""
    folder = tmp_path / "large"
    folder.mkdir()
    (folder / "base").write_bytes(b"old\n" * (2 << 20))
    (folder / "notes").write_text("untouched")
    os.link(folder / "notes", folder / "more-notes")
    monkeypatch.chdir(tmp_path)

    def overwrite() -> None:
        with (folder / "base").open("r+b") as file:
            file.write(b"new\n" * 4)

    def check(shown: Path) -> None:
        assert sorted(path.name for path in shown.iterdir()) == ["base", "more-notes", "notes"]
        assert (shown / "notes").read_text() == "untouched"
        assert (shown / "notes").samefile(shown / "more-notes")
        assert (shown / "base").stat().st_size == 8 << 20
        (shown / "notes").write_text("spoilt")

    run = powercut.explore(overwrite, check, dir=folder, **SETTINGS)
    assert (run.findings, run.states["failed"]) == ([], 0)
    assert run.states["tested"] > 1
    trace = trace_of(tmp_path)
    assert trace.rest is None
    assert trace.meta["dir"] == os.fsencode(folder)


def test_a_copy_finds_the_same(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layered = only(run_in(project))
    monkeypatch.setattr(_engine, "try_layers", lambda *_: (0, "the kernel has no overlayfs", 0))
    said: list[object] = []
    copied = powercut.explore(lambda: save(project), check, subscriber=said.append, cache=False, **SETTINGS)
    assert any(isinstance(event, Said) and "the kernel has no overlayfs" in event.text for event in said)
    assert only(copied).id == layered.id
    assert LOST in only(copied).output


def test_replay_says_what_has_changed(project: Path) -> None:
    finding = only(run_in(project))
    told: list[object] = []
    assert not replay(project / ".powercut", finding.id, None, check, told.append).passed
    assert told == []
    changed = project / "library/deep/5.txt"
    times = changed.stat().st_atime_ns, changed.stat().st_mtime_ns
    changed.write_text("another\n")
    verdict = replay(project / ".powercut", finding.id, None, check, told.append)
    changed.write_text("5\n")
    os.utime(changed, ns=times)
    assert LOST in verdict.output
    (said,) = told
    assert isinstance(said, Said)
    assert said.text.endswith(f"in {project / 'library/deep'}: checks see them as they are now")


def test_an_exported_image_has_all(project: Path, tmp_path: Path) -> None:
    finding = only(run_in(project))
    replay(project / ".powercut", finding.id, tmp_path / "image", check, lambda _: None)
    image = tmp_path / "image"
    assert (image / "db/state").read_bytes() == bytes(3)
    assert (image / "db/link").readlink() == Path("state")
    assert len(list((image / "library/deep").iterdir())) == FILES
    assert (image / "notes").read_text() == "untouched"
    assert not (image / ".powercut").exists()


MAPS = r"""
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
int main(void) {
    int file = open("pool", O_RDWR);
    char *pool = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    memcpy(pool + 4096, "content", 7);
    pool[0] = 1;
    return msync(pool, 8192, MS_SYNC);
}
"""


@needs_memory_tool
def test_stores_into_a_file_of_the_users_are_seen(project: Path, tmp_path: Path) -> None:
    """An overlay numbers the user's files from 2^63 on, where signed numbers end."""
    (project / "pool").write_bytes(bytes(8192))
    (tmp_path / "maps.c").write_text(MAPS)
    subprocess.run(["gcc", "-g", "-o", tmp_path / "maps", tmp_path / "maps.c"], check=True)

    def in_order(folder: Path) -> None:
        pool = (folder / "pool").read_bytes()
        assert not pool[0] or pool[4096:4103] == b"content"

    run = powercut.explore([str(tmp_path / "maps")], in_order, **SETTINGS)
    (project / "pool").unlink()
    assert [finding.kind.value for finding in run.findings] == ["ordering"]
    assert trace_of(project).sees_memory


@needs_root
def test_owners_are_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "owned"
    folder.mkdir()
    for number in range(FILES):
        (folder / f"{number}").write_text("x")
    for path in [folder, *folder.iterdir()]:
        shutil.chown(path, 65534, 65534)
    folder.chmod(0o700)
    monkeypatch.chdir(folder)
    program = "import os; os.setuid(65534); open('7', 'w').write('new'); open('made', 'w').write('x')"
    judge = (
        "import os; [0 for name in ('.', '7', '8') if os.stat(name).st_uid != 65534 and os._exit(1)];"
        "os.setuid(65534); open('7').read(); open('9', 'r+').close()"
    )
    run = powercut.explore([sys.executable, "-c", program], f'{sys.executable} -c "{judge}"', max_states=20, fs="xfs")
    assert run.findings == []
    assert run.states["tested"] > 2


def test_a_moved_folder_is_moved_with_all_in_it(project: Path) -> None:
    def move() -> None:
        os.rename(project / "library", project / "lib")
        (project / "lib/deep/new").write_text("x")

    def whole(folder: Path) -> None:
        (place,) = [folder / name for name in ("lib", "library") if (folder / name).exists()]
        inside = [path for path in (place / "deep").iterdir() if path.name != "new"]
        assert len(inside) == FILES
        assert all(path.read_text() == f"{path.stem}\n" for path in inside)

    run = powercut.explore(move, whole, **SETTINGS)
    assert run.findings == []
    assert run.states["tested"] > 2


def test_a_survey_tells_where_something_changed(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/file").write_text("1")
    (tmp_path / "skipped").mkdir()
    before = Survey(tmp_path, ["*.log"], [tmp_path / "skipped"])
    assert [before.path(row) for row in range(len(before.rows))] == [b"", b"a", b"a/b", b"a/b/file"]
    (tmp_path / "a/x.log").write_text("left out")
    (tmp_path / "skipped/file").write_text("skipped")
    assert Survey(tmp_path, ["*.log"], [tmp_path / "skipped"]).looks == before.looks
    (tmp_path / "a/b/file").write_text("22")
    after = Survey(tmp_path, ["*.log"], [tmp_path / "skipped"])
    assert {path for path in after.looks if after.looks[path] != before.looks[path]} == {"a/b"}
    assert (after.left_out, after.first_left_out) == (1, "a/x.log")
