"""Each system call that can change the data folder, make it durable or say something, and what the trace says of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from powercut.trace.layout import Channel, Flag, Kind
from powercut.trace.reader import Trace

from .tracer_kit import Recording, assert_replays, compile_c, record, tracer


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "old").write_bytes(b"old content\n")
    (folder / "sub").mkdir()
    return folder


def run_c(data: Path, body: str, *flags: str, options: list[str] | tuple[str, ...] = ()) -> Recording:
    """Record `main` with this body, started in the data folder, and check the replay."""
    program = compile_c(data.parent, "int main(int argc, char **argv) {\n" + body + "\nreturn 0; }", *flags)
    recording = record(data, [program], *options)
    assert_replays(recording)
    return recording


WRITES = r"""
int fd = must(open("w", O_RDWR | O_CREAT, 0640));
struct iovec two[2] = {{"hello ", 6}, {"world", 5}};
OK(write(fd, "0123456789", 10));
OK(pwrite(fd, "XY", 2, 3));
OK(writev(fd, two, 2));
OK(pwritev(fd, two, 2, 100));
OK(pwritev2(fd, two, 2, 200, RWF_DSYNC));
OK(pwritev2(fd, two, 2, -1, 0));
OK(pwritev2(fd, two, 2, 5, RWF_APPEND));
int app = must(open("w", O_WRONLY | O_APPEND));
OK(write(app, "appended", 8));
OK(pwrite(app, "appended too", 12, 0));
int shared = dup(fd);
OK(lseek(shared, 50, SEEK_SET));
OK(write(fd, "moved", 5));
OK(close(fd)); OK(close(shared)); OK(close(app));
"""


@pytest.mark.parametrize("options", [[], ["--no-shortcuts"]], ids=["", "plain"])
@pytest.mark.parametrize("flags", [[], ["-static"]], ids=["dynamic", "static"])
def test_writes(data: Path, flags: list[str], options: list[str]) -> None:
    run = run_c(data, WRITES, *flags, options=options)
    writes = run.events(Kind.WRITE)
    assert [(e.offset, e.length) for e in writes[:5]] == [(0, 10), (3, 2), (10, 11), (100, 11), (200, 11)]
    assert writes[4].flags == Flag.DSYNC
    assert [e.offset for e in writes[5:]] == [21, 211, 222, 230, 50]
    assert writes[6].flags == writes[7].flags == writes[8].flags == Flag.APPEND
    assert len(run.events(Kind.CLOSE)) == 2  # fd and its duplicate are one open file


def test_sync_flags(data: Path) -> None:
    run = run_c(
        data,
        r"""
        static char block[4096] __attribute__((aligned(4096)));
        OK(write(must(open("s", O_WRONLY | O_CREAT | O_SYNC, 0600)), "s", 1));
        OK(write(must(open("d", O_WRONLY | O_CREAT | O_DSYNC, 0600)), "d", 1));
        int direct = open("o", O_WRONLY | O_CREAT | O_DIRECT, 0600);
        if (direct >= 0) OK(write(direct, block, sizeof block)); else { unlink("o"); }
        """,
    )
    writes = run.events(Kind.WRITE)
    assert [e.flags for e in writes[:2]] == [Flag.SYNC, Flag.DSYNC]
    assert all(e.flags == Flag.DIRECT for e in writes[2:])


def test_opens(data: Path) -> None:
    run = run_c(
        data,
        r"""
        #include <linux/openat2.h>
        struct open_how how = {.flags = O_CREAT | O_WRONLY, .mode = 0600};
        int folder = must(open("sub", O_RDONLY | O_DIRECTORY));
        OK(symlink("sub/target", "dangling")); OK(symlink("old", "alias"));
        OK(close(must(open("new", O_CREAT | O_EXCL | O_RDWR, 0600))));
        OK(close(must(creat("made", 0644))));
        OK(close(must(openat(folder, "below", O_CREAT | O_WRONLY, 0644))));
        OK(close(must(syscall(SYS_openat2, folder, "second", &how, sizeof how))));
        OK(close(must(open("dangling", O_CREAT | O_WRONLY, 0600))));
        OK(close(must(open("old", O_CREAT | O_WRONLY, 0600))));
        OK(close(must(open("alias", O_TRUNC | O_WRONLY))));
        OK(close(must(open("old", O_TRUNC | O_WRONLY))));
        if (open("new", O_CREAT | O_EXCL | O_RDWR, 0600) != -1) return 8;
        if (open("missing/new", O_CREAT | O_RDWR, 0600) != -1) return 8;
        if (open((char *)8, O_CREAT | O_RDWR, 0600) != -1) return 8;
        """,
    )
    created = [e.path for e in run.events(Kind.CREATE)]
    assert created == [b"new", b"made", b"sub/below", b"sub/second", b"sub/target"]
    emptied = run.one(Kind.TRUNCATE)  # once only: the second O_TRUNC found nothing
    assert (emptied.flags, emptied.length, emptied.extra) == (Flag.OPEN, 0, 12)
    assert not run.trace.notes()


def test_tmpfile_is_published(data: Path) -> None:
    run = run_c(
        data,
        r"""
        char name[64];
        int fd = must(open("sub", O_TMPFILE | O_RDWR, 0600));
        OK(write(fd, "first", 5));
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        OK(linkat(AT_FDCWD, name, AT_FDCWD, "published", AT_SYMLINK_FOLLOW));
        OK(write(fd, " second", 7));
        int other = must(open(".", O_TMPFILE | O_RDWR, 0600));
        OK(write(other, "lost", 4));
        if (linkat(other, "", AT_FDCWD, "by-fd", AT_EMPTY_PATH) != 0 && errno != ENOENT) return 8;
        """,
    )
    first = run.events(Kind.CREATE)[0]
    assert first.flags == Flag.TMPFILE
    assert first.path is None
    link = run.events(Kind.LINK)[0]
    assert (link.path, link.path2, link.inode) == (None, b"published", first.inode)


def test_names(data: Path) -> None:
    run = run_c(
        data,
        r"""
        int sub = must(open("sub", O_PATH | O_DIRECTORY));
        OK(mkdir("d1", 0755)); OK(mkdirat(sub, "d2/", 0700)); OK(mkdir("sub//./d2/../d3", 0700));
        OK(mknod("reg", S_IFREG | 0600, 0)); OK(mknodat(sub, "fifo", S_IFIFO | 0600, 0));
        OK(symlink("any/where", "l1")); OK(symlinkat("../old", sub, "l2")); OK(symlink("sub", "way"));
        OK(link("old", "second")); OK(linkat(AT_FDCWD, "old", sub, "third", 0));
        OK(linkat(AT_FDCWD, "way/l2", AT_FDCWD, "fourth", AT_SYMLINK_FOLLOW));
        OK(linkat(AT_FDCWD, "way/l2", AT_FDCWD, "link-itself", 0));
        OK(rename("second", "moved")); OK(renameat(sub, "third", AT_FDCWD, "back"));
        OK(rename("moved", "fourth"));
        OK(rename("reg", "back"));
        OK(renameat2(AT_FDCWD, "d1", sub, "d2", RENAME_EXCHANGE));
        OK(renameat2(AT_FDCWD, "sub", AT_FDCWD, "renamed", RENAME_NOREPLACE));
        if (renameat2(AT_FDCWD, "d1", AT_FDCWD, "old", RENAME_NOREPLACE) == 0) return 8;
        OK(unlink("l1")); OK(unlinkat(sub, "fifo", 0)); OK(rmdir("renamed/d3")); OK(unlinkat(sub, "d2", AT_REMOVEDIR));
        OK(unlink("fourth")); OK(unlink("moved")); OK(unlink("old"));
        OK(chdir("renamed")); OK(mkdir("../up", 0700)); OK(mkdir("here", 0700));
        struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "sock"};
        OK(bind(must(socket(AF_UNIX, SOCK_STREAM, 0)), (void *)&name, sizeof name));
        """,
    )
    assert [e.path for e in run.events(Kind.MKDIR)] == [b"d1", b"sub/d2", b"sub/d3", b"up", b"renamed/here"]
    renames = [(e.path, e.path2, e.flags) for e in run.events(Kind.RENAME)]
    # moved and fourth are one file: the kernel does nothing, and so does the trace
    assert renames == [
        (b"second", b"moved", 0),
        (b"sub/third", b"back", 0),
        (b"reg", b"back", 0),
        (b"d1", b"sub/d2", Flag.EXCHANGE),
        (b"sub", b"renamed", 0),
    ]
    assert [e.extra for e in run.events(Kind.UNLINK)][-3:] == [2, 1, 0]
    assert not run.trace.notes()


def test_border(data: Path) -> None:
    """Without a view, files can move across the border of the data folder."""
    (data.parent / "outside").write_bytes(b"from outside")
    (data.parent / "empty").touch()
    run = run_c(
        data,
        r"""
        OK(link("../outside", "linked")); OK(rename("../outside", "in"));
        OK(rename("../empty", "old"));
        OK(rename("in", "../out"));
        int fd = must(open("../elsewhere", O_CREAT | O_WRONLY, 0600));
        OK(write(fd, "not ours", 8)); OK(fsync(fd)); OK(close(fd));
        OK(unlink("../elsewhere"));
        """,
    )
    imports = [e for e in run.events(Kind.CREATE) if e.flags == Flag.IMPORT]
    assert imports[0].path == b"linked"
    exported = [e for e in run.events(Kind.UNLINK) if e.flags == Flag.EXPORT]
    assert [e.path for e in exported] == [b"in"]
    assert b"not ours" not in {e.data for e in run.events(Kind.WRITE)}
    assert not run.events(Kind.FSYNC)


def test_copies(data: Path) -> None:
    run = run_c(
        data,
        r"""
        off_t from = 4; loff_t to = 300, in = 2, out = 100;
        int old = must(open("old", O_RDONLY)), pipes[2];
        int fd = must(open("c", O_WRONLY | O_CREAT, 0600));
        OK(sendfile(fd, old, NULL, 5)); OK(sendfile(fd, old, &from, 6));
        OK(copy_file_range(old, &in, fd, &out, 7, 0));
        OK(lseek(old, 0, SEEK_SET)); OK(copy_file_range(old, NULL, fd, NULL, 3, 0));
        OK(pipe(pipes)); OK(write(pipes[1], "through a pipe", 14));
        OK(splice(pipes[0], NULL, fd, NULL, 7, 0)); OK(splice(pipes[0], NULL, fd, &to, 7, 0));
        int clone = must(open("clone", O_RDWR | O_CREAT, 0600));
        if (syscall(SYS_ioctl, clone, FICLONE, old) < 0 && errno != EOPNOTSUPP && errno != ENOTTY) return 8;
        """,
    )
    offsets = [(e.offset, e.data) for e in run.events(Kind.WRITE)][:6]
    assert offsets == [
        (0, b"old c"),
        (5, b"conten"),
        (100, b"d conte"),
        (11, b"old"),
        (14, b"through"),
        (300, b" a pipe"),
    ]


def test_lengths_and_attributes(data: Path) -> None:
    run = run_c(
        data,
        r"""
        int fd = must(open("old", O_RDWR));
        OK(ftruncate(fd, 5)); OK(truncate("old", 100)); OK(ftruncate(fd, 100));
        OK(pwrite(fd, "0123456789", 10, 50));
        OK(fallocate(fd, 0, 90, 60)); OK(fallocate(fd, FALLOC_FL_KEEP_SIZE, 1000, 100));
        OK(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 52, 3));
        (void)!fallocate(fd, FALLOC_FL_ZERO_RANGE, 56, 200);
        OK(chmod("old", 0600)); OK(fchmod(fd, 0640)); OK(fchmodat(AT_FDCWD, "sub", 0711, 0));
        OK(chown("old", getuid(), getgid())); OK(fchown(fd, getuid(), -1)); OK(lchown("old", -1, -1));
        OK(fchownat(AT_FDCWD, "old", -1, getgid(), AT_SYMLINK_NOFOLLOW));
        if (setxattr("old", "user.one", "value", 5, 0) == 0) {
            OK(fsetxattr(fd, "user.two", "", 0, 0)); OK(lsetxattr("old", "user.three", "v3", 2, 0));
            OK(removexattr("old", "user.one")); OK(fremovexattr(fd, "user.two")); OK(lremovexattr("old", "user.three"));
        }
        """,
    )
    sizes = [(e.length, e.extra) for e in run.events(Kind.TRUNCATE)]
    assert sizes == [(5, 12), (100, 5), (100, 100)]
    assert [e.extra for e in run.events(Kind.FALLOCATE)][:3] == [0, 1, 3]
    attributes = run.events(Kind.SETATTR)
    assert [oct(e.extra) for e in attributes[:3]] == ["0o100600", "0o100640", "0o40711"]
    assert {(e.offset, e.length) for e in attributes} == {(os.getuid(), os.getgid())}
    set_names = [(e.path, e.data) for e in run.events(Kind.SETXATTR)]
    if set_names:
        assert set_names == [(b"user.one", b"value"), (b"user.two", b""), (b"user.three", b"v3")]
        assert [e.path for e in run.events(Kind.DELXATTR)] == [b"user.one", b"user.two", b"user.three"]


def test_syncs(data: Path) -> None:
    run = run_c(
        data,
        r"""
        int fd = must(open("old", O_RDWR)), reader = must(open("old", O_RDONLY)), folder = must(open(".", O_RDONLY));
        OK(fsync(fd)); OK(fsync(reader)); OK(fsync(folder)); OK(fdatasync(fd)); OK(fdatasync(reader));
        OK(sync_file_range(fd, 1, 2, SYNC_FILE_RANGE_WRITE)); OK(syncfs(fd)); sync();
        OK(syncfs(must(open("..", O_RDONLY)))); OK(syncfs(must(open("/proc", O_RDONLY))));
        if (fsync(77) == 0) return 8;
        """,
    )
    old, folder = (run.folder / "old").stat().st_ino, run.folder.stat().st_ino
    seen = [(e.kind, e.inode, e.flags) for e in run.events() if 30 <= e.kind < 40]
    assert seen == [
        (Kind.FSYNC, old, 0),
        (Kind.FSYNC, old, Flag.READONLY),
        (Kind.FSYNC, folder, 0),
        (Kind.FDATASYNC, old, 0),
        (Kind.FDATASYNC, old, Flag.READONLY),
        (Kind.SYNC_RANGE, old, 0),
        (Kind.SYNCFS, old, 0),
        (Kind.SYNC, 0, 0),
        (Kind.SYNCFS, 0, 0),
    ]


def test_mappings(data: Path) -> None:
    (data / "map").write_bytes(bytes(5 * 4096))
    program = r"""
        int fd = must(open("map", O_RDWR));
        char *all = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);
        char *mine = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
        char *none = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (all == MAP_FAILED || mine == MAP_FAILED || none == MAP_FAILED) return 8;
        OK(msync(all + 4096, 4096, MS_SYNC)); OK(msync(none, 4096, MS_SYNC)); OK(msync(all, 4 * 4096, MS_ASYNC));
        if (msync((char *)8, 8, MS_SYNC) == 0) return 8;
    """
    run = run_c(data, program)
    mapped = run.one(Kind.MMAP)
    inode = (data / "map").stat().st_ino
    assert (mapped.inode, mapped.offset, mapped.length) == (inode, 4096, 4 * 4096)
    assert [(e.inode, e.offset, e.length, e.extra) for e in run.events(Kind.MSYNC)] == [
        (inode, 8192, 4096, 4),
        (inode, 4096, 4 * 4096, 1),
    ]


def test_outputs(data: Path) -> None:
    run = run_c(
        data,
        r"""
        int pair[2], pipes[2], old = must(open("old", O_RDONLY));
        struct iovec two[2] = {{"v1 ", 3}, {"v2 ", 3}};
        struct msghdr message = {.msg_iov = two, .msg_iovlen = 2};
        struct mmsghdr many[2] = {{.msg_hdr = message}, {.msg_hdr = {.msg_iov = two, .msg_iovlen = 1}}};
        OK(write(1, "out ", 4)); OK(write(2, "err ", 4)); OK(write(dup(1), "dup ", 4)); OK(writev(1, two, 2));
        OK(sendfile(1, old, NULL, 3));
        OK(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair)); OK(pipe(pipes));
        OK(write(pipes[1], "silent", 6)); OK(write(pair[0], "w ", 2)); OK(send(pair[0], "s ", 2, 0));
        OK(sendmsg(pair[0], &message, 0)); OK(sendmmsg(pair[0], many, 2, 0));
        if (write(1, (void *)8, 4) >= 0) return 8;
        """,
    )
    assert run.outputs == {
        Channel.STDOUT: b"out dup v1 v2 old",
        Channel.STDERR: b"err ",
        Channel.SOCKET: b"w s v1 v2 v1 v2 v1 ",
    }


def test_stdout_and_stderr_in_one_file_are_told_by_number(data: Path) -> None:
    output = data.parent / "both.trace"
    command = ["python3", "-Sc", "import os; os.write(1, b'out'); os.write(2, b'err')"]
    arguments = [tracer(), "--output", str(output), "--dir", str(data), "--", *command]
    with open(data.parent / "both", "wb") as both:
        subprocess.run(arguments, stdout=both, stderr=both, check=True)
    run = Recording(0, Trace.open(output), data, "")
    assert run.outputs == {Channel.STDOUT: b"out", Channel.STDERR: b"err"}


def test_partial_write_and_bad_pointers(data: Path) -> None:
    run = run_c(
        data,
        r"""
        int fd = must(open("p", O_RDWR | O_CREAT, 0600));
        char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(page, 'x', 8192); OK(mprotect(page + 4096, 4096, PROT_NONE));
        if (write(fd, page + 4000, 4096) != 96) return 7;
        struct iovec bad[2] = {{page, 10}, {page + 4096, 10}};
        if (writev(fd, bad, 2) != 10) return 7;
        if (write(fd, (void *)8, 10) >= 0 || writev(fd, (void *)8, 2) >= 0 || pwrite(fd, "x", 1, -1) >= 0) return 8;
        if (rename((void *)8, "q") == 0 || unlink((void *)8) == 0 || mkdir(page + 4096, 0700) == 0) return 8;
        if (write(99, "x", 1) >= 0 || write(-1, "x", 1) >= 0 || write(fd, page, 0) != 0) return 8;
        memset(page, 'y', 4096);
        if (mkdir(page, 0700) == 0) return 8;
        """,
    )
    assert [(e.offset, e.length) for e in run.events(Kind.WRITE)] == [(0, 96), (96, 10)]
    assert not run.trace.notes()


def test_refusals_are_said(data: Path) -> None:
    run = run_c(
        data,
        r"""
        char params[256] = {0}; unsigned long context = 0;
        if (syscall(SYS_io_uring_setup, 4, params) != -1 || errno != ENOSYS) return 8;
        if (syscall(SYS_io_uring_setup, 4, params) != -1 || errno != ENOSYS) return 8;
        if (syscall(SYS_io_setup, 4, &context) != -1 || errno != ENOSYS) return 8;
        """,
    )
    assert [note.split()[0] for note in run.trace.notes()] == ["io_uring", "Linux"]


def test_copies_to_the_outside_are_outputs(data: Path) -> None:
    """cat copies with copy_file_range where it can."""
    out = data.parent / "out"
    run = record(data, ["sh", "-c", "cat old; cat < old; cat old | cat"], "--stdout", str(out))
    assert run.outputs == {Channel.STDOUT: b"old content\n" * 3}
    assert out.read_bytes() == b"old content\n" * 3


def test_limits_of_the_program_hold(data: Path) -> None:
    """Writes done in the program's place must fail as its own would."""
    run = run_c(
        data,
        r"""
        #include <signal.h>
        #include <sys/resource.h>
        struct rlimit limit = {100, 100};
        int fd = must(open("f", O_CREAT | O_WRONLY, 0600)), reader = must(open("old", O_RDONLY));
        char block[80] = {1};
        if (write(reader, "x", 1) != -1 || errno != EBADF) return 8;
        if (pwrite(fd, "x", 1, -5) != -1 || errno != EINVAL) return 8;
        OK(write(fd, block, 80));
        OK(setrlimit(RLIMIT_FSIZE, &limit)); signal(SIGXFSZ, SIG_IGN);
        if (write(fd, block, 80) != 20) return 8;
        if (write(fd, block, 80) != -1 || errno != EFBIG) return 8;
        OK(fchmod(fd, 06755)); OK(pwrite(fd, "y", 1, 0));
        """,
    )
    assert [e.length for e in run.events(Kind.WRITE)] == [80, 20, 1]


def test_a_move_that_only_the_view_forbids_is_said(data: Path) -> None:
    copy = data.parent / "copy"
    copy.mkdir()
    (data.parent / "outside").mkdir()
    command = ["python3", "-Sc", "import os\ntry: os.rename('../outside', 'in')\nexcept OSError: pass"]
    run = record(data, command, "--view", str(copy))
    (note,) = run.trace.notes()
    assert "EXDEV" in note
    assert str(data / "in") in note
    assert "--dir" in note


def in_view(data: Path, script: str) -> Recording:
    """Record a Python script in a view, where the folder is a mount of its own; `out` lies beside it, on its device."""
    copy = data.parent / "copy"
    shutil.copytree(data, copy)
    (data.parent / "out").mkdir(exist_ok=True)
    run = record(data, ["python3", "-Sc", f"import os\nout = '../out'\n{script}"], "--view", str(copy))
    assert run.code == 0, run.stderr
    return run


SAVE_OUTSIDE = """
with open(f'{out}/t', 'w') as file:
    file.write('new'); file.flush(); SYNC
"""


@pytest.mark.parametrize(("sync", "flag"), [("os.fsync(file.fileno())", Flag.IMPORT), ("", Flag(0))])
@pytest.mark.parametrize("name", ["old", "fresh"])
def test_a_file_from_beside_the_folder_comes_in_as_in_life(data: Path, name: str, sync: str, flag: Flag) -> None:
    script = f"os.chmod(f'{{out}}/t', 0o640); os.rename(f'{{out}}/t', '{name}'); assert open('{name}').read() == 'new'"
    run = in_view(data, SAVE_OUTSIDE.replace("SYNC", sync) + script)
    assert run.trace.notes() == []
    kinds = [Kind.CREATE, Kind.WRITE, Kind.LINK]
    create, write, link = run.events(*kinds)
    assert [event.kind for event in (create, write, link)] == kinds  # the name comes in one step, with the content
    assert (create.flags, create.extra & 0o7777) == (Flag.IMPORT | Flag.TMPFILE, 0o640)
    assert (write.flags, write.data, link.path2) == (flag, b"new", name.encode())
    assert not (data.parent / "out/t").exists()
    assert (data.parent / "copy" / name).read_bytes() == b"new"
    assert (data / "old").read_bytes() == b"old content\n"


def test_what_is_written_after_a_sync_is_not_synced(data: Path) -> None:
    late = "import time; time.sleep(0.02)\nwith open(f'{out}/t', 'a') as file: file.write(' more')\n"
    run = in_view(data, SAVE_OUTSIDE.replace("SYNC", "os.sync()") + late + "os.rename(f'{out}/t', 'fresh')")
    assert run.one(Kind.WRITE).flags == Flag(0)


def test_links_and_moves_out_across_the_border(data: Path) -> None:
    script = "os.link(f'{out}/t', 'linked'); os.rename('old', f'{out}/gone'); os.link('linked', f'{out}/again')"
    run = in_view(data, SAVE_OUTSIDE.replace("SYNC", "os.fsync(file.fileno())") + script)
    assert [e.path2 for e in run.events(Kind.LINK)] == [b"linked"]
    assert [(e.path, e.flags) for e in run.events(Kind.UNLINK)] == [(b"old", Flag.EXPORT)]
    out = {path.name: path.read_bytes() for path in (data.parent / "out").iterdir()}
    assert out == {"t": b"new", "gone": b"old content\n", "again": b"new"}


def test_what_fails_in_life_fails_across_the_border_too(data: Path) -> None:
    script = """
def code(call, *names):
    try: call(*names)
    except OSError as error: return errno.errorcode[error.errno]
open(f'{out}/t', 'w').close()
assert code(os.link, f'{out}/t', 'old') == 'EEXIST'
assert code(os.rename, f'{out}/t', 'sub') == 'EISDIR'
with open(f'{out}/t', 'a'):
    assert code(os.rename, f'{out}/t', 'held') == 'EXDEV'
assert sorted(os.listdir()) == ['old', 'sub']
"""
    run = in_view(data, f"import errno{script}")
    (note,) = run.trace.notes()
    assert "EXDEV" in note and "held" in note
