"""The private view follows the mounts of the machine, and the machine sees nothing of the view.

The machine is a mount namespace of its own, with a file system in it that is mounted shared, as all are where systemd
runs: whatever happens in a test, its mounts end with it.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.needs import needs_loop_devices, needs_root, needs_views

from .tracer_kit import tracer

pytestmark = needs_views

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
LIMIT = 60.0  # seconds; far more than any step takes
DISK = 8 << 20  # bytes
SETUP = 'mount -t tmpfs none "$0" && mount --make-shared "$0" && echo ready && exec cat'


@dataclass(frozen=True, slots=True)
class Machine:
    """Mounts that a test may change.

    Attributes:
        pid: a process that sees them.
        shared: a folder that is a shared mount.
    """

    pid: int
    shared: Path

    def within(self, *command: str | Path) -> list[str]:
        """The command that runs another one in `shared`, as seen there."""
        users = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
        enter = ["nsenter", f"--target={self.pid}", "--mount", *users, "sh", "-c", 'cd "$0" && exec "$@"']
        return [*enter, str(self.shared), *map(str, command)]

    def run(self, *command: str | Path) -> None:
        """Run a command there to its end."""
        subprocess.run(self.within(*command), check=True, timeout=LIMIT)

    def mounts(self) -> list[str]:
        """What is mounted there."""
        return mounts(self.pid)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that everybody may enter, which pytest's are not."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@pytest.fixture
def machine(place: Path) -> Iterator[Machine]:
    """A machine with a shared file system, on which is a data folder with an old file."""
    shared = place / "shared"
    shared.mkdir()
    users = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    command = ["unshare", *users, "--mount", "sh", "-c", SETUP, str(shared)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        made = Machine(process.pid, shared)
        made.run("sh", "-c", "mkdir data disk && echo old > data/f")
        yield made
        process.stdin.close()  # it ends, and its mounts with it


class Held:
    """Programs that say who they are and then wait: a script to start them with, and what they say.

    Both ends of both pipes are open here, so that nobody waits for somebody to open one.
    """

    def __init__(self, folder: Path) -> None:
        self.script = folder / "held"
        for name in ("here", "go"):
            os.mkfifo(folder / name)
            (folder / name).chmod(0o666)
        self.script.write_text(f'echo $$ > "{folder}/here"; read go < "{folder}/go"\n')
        self._here, self._go = (os.open(folder / name, os.O_RDWR) for name in ("here", "go"))

    def pid(self, process: subprocess.Popen[bytes]) -> int:
        """The next program that waits, started by a process that must not end before."""
        ending = os.pidfd_open(process.pid)
        ready = select.select([self._here, ending], [], [], LIMIT)[0]
        os.close(ending)
        assert self._here in ready, process.communicate()[1].decode() if ready else "no program came"
        return int(os.read(self._here, 100).split()[0])

    def release(self) -> None:
        """Let it go on, and those that come later."""
        os.write(self._go, b"go\n" * 1000)

    def close(self) -> None:
        os.close(self._here)
        os.close(self._go)


@pytest.fixture
def held(place: Path) -> Iterator[Held]:
    """A script that waits."""
    made = Held(place)
    yield made
    made.close()


def mounts(pid: int) -> list[str]:
    """Where a process sees mounts, lowest first."""
    return [line.split()[4] for line in Path(f"/proc/{pid}/mountinfo").read_text().splitlines()]


def recording(held: Held, rest: str = "true", data: str = "data") -> list[str]:
    """`powercut record` of a program that writes, waits, and then does the rest."""
    script = f'echo new > "{data}/f"; . "{held.script}"; {rest}'
    options = ["-o", str(held.script.with_name("run.trace")), "--dir", data]
    return [sys.executable, "-m", "powercut", "record", *options, "--", "sh", "-c", script]


def checking(held: Held) -> list[str]:
    """`powercut test` with a check that waits, in two workers."""
    options = ["--output", str(held.script.with_name("runs")), "--dir", "data", "--workers", "2"]
    command = [sys.executable, "-m", "powercut", "test", *options, "--check", f"sh {held.script}"]
    return [*command, "--", "sh", "-c", "echo new > data/f"]


def as_nobody(held: Held, machine: Machine) -> list[str]:
    """The tracer, run by somebody who needs a user namespace for the view."""
    if subprocess.run([*NOBODY, "unshare", "--user", "--map-root-user", "--mount", "true"]).returncode != 0:
        pytest.skip("user namespaces are not for everybody here")
    own = machine.shared / "own"
    machine.run("cp", tracer(), "tracer")
    machine.run("sh", "-c", "mkdir -p own/copy && chmod 755 . tracer && chown -R 65534:65534 own data")
    options = ["--output", str(own / "trace"), "--dir", str(machine.shared / "data"), "--view", str(own / "copy")]
    return [*NOBODY, "./tracer", *options, "--no-stacks", "--", "sh", "-c", held.script.read_text()]


@contextmanager
def waiting(machine: Machine, held: Held, command: Sequence[str], error: str | None = None) -> Iterator[int]:
    """A command on the machine, for as long as its program waits, by the id of that; then it ends well, or so."""
    argv = machine.within(*command)
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            yield held.pid(process)
            held.release()
            _, said = process.communicate(timeout=LIMIT)
            assert (process.returncode == 0) == (error is None), said.decode()
            assert (error or "") in said.decode()
        finally:
            process.kill()  # where something went wrong; what it runs ends with it


@pytest.mark.parametrize("who", ["program", "check", pytest.param("nobody's program", marks=needs_root)])
def test_what_is_unmounted_on_the_machine_is_gone_from_the_view(machine: Machine, held: Held, who: str) -> None:
    disk = machine.shared / "disk"
    machine.run("mount", "-t", "tmpfs", "none", "disk")
    commands = {"program": lambda: recording(held), "check": lambda: checking(held)}
    with waiting(machine, held, commands.get(who, lambda: as_nobody(held, machine))()) as pid:
        assert str(disk) in mounts(pid)
        machine.run("umount", "disk")
        assert str(disk) not in mounts(pid)


@needs_loop_devices
@pytest.mark.skipif(shutil.which("mkfs.ext4") is None, reason="mkfs.ext4 is not there")
@pytest.mark.parametrize("who", ["program", "check"])
def test_a_disk_that_is_unmounted_is_free(machine: Machine, held: Held, tmp_path: Path, who: str) -> None:
    with open(tmp_path / "image", "wb") as file:
        file.truncate(DISK)
    subprocess.run(["mkfs.ext4", "-q", tmp_path / "image"], check=True)
    find = ["losetup", "--find", "--show", tmp_path / "image"]
    device = subprocess.run(find, check=True, capture_output=True, text=True).stdout.strip()
    try:
        machine.run("mount", device, "disk")
        with waiting(machine, held, recording(held) if who == "program" else checking(held)):
            assert not is_free(device)
            machine.run("umount", "disk")
            assert is_free(device)
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


def is_free(device: str) -> bool:
    """Whether no file system uses a disk: only then can it be had alone."""
    try:
        os.close(os.open(device, os.O_RDONLY | os.O_EXCL))
    except OSError:
        return False
    return True


@pytest.mark.parametrize("who", ["program", "check"])
def test_the_machine_sees_nothing_of_the_view(machine: Machine, held: Held, who: str) -> None:
    before = machine.mounts()
    with waiting(machine, held, recording(held) if who == "program" else checking(held)) as pid:
        assert str(machine.shared / "data") in mounts(pid)
        assert machine.mounts() == before
        machine.run("sh", "-c", 'test "$(cat data/f)" = old')
    assert machine.mounts() == before


def test_the_machine_sees_nothing_of_what_the_program_mounts(machine: Machine, held: Held) -> None:
    before = machine.mounts()
    held.script.write_text(f"mount -t tmpfs none disk; {held.script.read_text()}")
    with waiting(machine, held, recording(held, rest="umount disk")) as pid:
        assert str(machine.shared / "disk") in mounts(pid)
        assert machine.mounts() == before


def test_what_is_mounted_over_the_data_folder_meanwhile_does_not_hide_the_copy(machine: Machine, held: Held) -> None:
    """Mounts of the machine come into the view, but below the one that shows the copy."""
    with waiting(machine, held, recording(held, rest='test "$(cat data/f)" = new && test -d disk/made')):
        machine.run("mount", "-t", "tmpfs", "none", "data")
        machine.run("mount", "-t", "tmpfs", "none", "disk")
        machine.run("mkdir", "disk/made")


@pytest.mark.parametrize("data", ["disk", "disk/data"])
def test_the_program_keeps_its_copy_when_the_disk_of_the_folder_goes(machine: Machine, held: Held, data: str) -> None:
    machine.run("sh", "-c", f"mount -t tmpfs none disk && mkdir -p {data}")
    with waiting(machine, held, recording(held, rest=f'test "$(cat {data}/f)" = new', data=data)):
        machine.run("umount", "disk")


@pytest.mark.parametrize("who", ["program", "check"])
def test_what_is_mounted_over_a_folder_above_is_told(machine: Machine, held: Held, who: str) -> None:
    """Such a mount comes into the view and hides the copy; what was found then is not to be believed."""
    error = f"another file system was mounted over {machine.shared}/data while the {who} ran"
    with waiting(machine, held, recording(held) if who == "program" else checking(held), error):
        machine.run("mount", "-t", "tmpfs", "none", machine.shared)
