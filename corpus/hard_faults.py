"""Twelve hard faults: services on persistent memory that are brought, under load, into a state no restart helps out of.

Each fault is a mistake that its service always has (see the head of its source) and a client that meets it while others
load the service. Before: nothing. After `break_down`: a pool and the checkpoint log of `powercut guard`, and the
service fails whenever it is started; after healing, `serves` tells whether it is well under further load.
The services are plain programs with PMDK's shared libraries; nothing is compiled for powercut.
"""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from harness import CORPUS, POWERCUT

from powercut.heal.healer import MODES
from powercut.heal.session import Restart, Session

SERVICES = CORPUS / "hardfaults"
ENVIRONMENT = {"PMEM_IS_PMEM_FORCE": "1"}
CLIENTS = 3
PARTS = 5  # of the load
KEYS = 40  # of each client
PROBES = 64  # keys that a check sets
PATIENCE = 2.0  # seconds for an answer: then the service hangs
STARTS = 20.0  # seconds a service gets to open its socket
ARENAS = 40  # new threads without room one after the other: then there is none
_ALL = 1 << 64


class Client:
    """One connection. All answers are lines."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(PATIENCE)
        self._socket.connect(os.path.relpath(path))
        self._answers = self._socket.makefile("r")

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._answers.close()
        self._socket.close()

    @property
    def process(self) -> int:
        """Of the service."""
        told = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return int.from_bytes(told[:4], sys.byteorder)

    def ask(self, *lines: str) -> list[str]:
        """Send requests together; their answers."""
        self._socket.sendall("".join(f"{line}\n" for line in lines).encode())
        answers = [self._answers.readline() for _ in lines]
        if not all(answers):
            raise ConnectionError("the service went away")
        return [answer.rstrip("\n") for answer in answers]


@dataclass(frozen=True, slots=True)
class Healed:
    """What healing took.

    Attributes:
        mode: "purge", "rollback" or "leaks".
        way_back: to undo it; None: it was not healed.
        attempts: restarts that were tried, with the first one.
        discarded: updates that were taken back, of all `updates`.
    """

    mode: str
    way_back: Path | None
    attempts: int
    seconds: float
    discarded: int
    updates: int


Trigger = Callable[[Path], None]


@dataclass(frozen=True, slots=True)
class HardFault:
    """One fault.

    Attributes:
        name: as in the paper's table.
        program: the service that has it.
        trigger: what a client does, given the service's socket.
        is_leak: objects are allocated that nobody reaches: no update is wrong.
    """

    name: str
    program: str
    title: str
    consequence: str
    trigger: Trigger
    is_leak: bool = False


class Service:
    """A service in a folder of its own, with its pool and its log."""

    def __init__(self, fault: HardFault, programs: Path, folder: Path) -> None:
        self.fault, self.folder = fault, folder
        self.pool, self.log = folder / "data" / "pool", folder / "log"
        self.socket = folder / "socket"
        self._program = programs / fault.program
        self.pool.parent.mkdir(parents=True)

    @property
    def check(self) -> list[str]:
        """The command that restarts the service and checks it."""
        return [str(self._program), str(self.pool), "check"]

    def is_well(self) -> bool:
        """Whether it starts and passes its check: on a copy, as nobody guards it."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            copy = shutil.copy(self.pool, folder)
            command = [str(self._program), copy, "check"]
            with suppress(subprocess.TimeoutExpired):
                done = subprocess.run(
                    command, env=_environment(), timeout=PATIENCE, stderr=subprocess.DEVNULL, check=False
                )
                return done.returncode == 0
        return False

    def break_down(self, rounds: int, pause: Callable[[int], None] = lambda _: None) -> None:
        """Run it under guard and load, in five parts; its fault is met in the third one.

        It ends when a client sees that something is wrong. After each part before that, `pause` is called with the
        service's process id.
        """
        with self.running(guard_command(self.log)):
            for part in range(PARTS):
                with loaded(self.socket, rounds // PARTS, seed=part) as problems, suppress(OSError):
                    if part == PARTS // 2:
                        self.fault.trigger(self.socket)
                if problems:
                    break
                with suppress(OSError), Client(self.socket) as client:
                    pause(client.process)

    def session(self, modes: Sequence[str] = MODES, batch: int = 1) -> Session:
        """To heal it."""
        return Session(self.log, None, Restart(self.check, self.folder, PATIENCE), lambda _: None, modes, batch=batch)

    def heal(self, modes: Sequence[str] = MODES, batch: int = 1) -> Healed:
        """Heal its pool, as `powercut heal --yes` does, or as with `--leaks`."""
        began, session = time.monotonic(), self.session(modes, batch)
        updates = session.history.updates
        if self.fault.is_leak:
            attempt, changes = session.free(session.leaks())
            way_back = session.write(changes) if attempt.healed else None
            return Healed("leaks", way_back, 2, time.monotonic() - began, 0, updates)
        plan, _ = session.plan()
        healing = session.heal(plan)
        if healing is None:
            return Healed("", None, 0, time.monotonic() - began, 0, updates)
        way_back = session.change(healing)
        lost = len(healing.records)
        return Healed(healing.mode, way_back, healing.attempts, time.monotonic() - began, lost, updates)

    def serves(self, rounds: int) -> bool:
        """Whether it stands further load, answers rightly, and is well afterwards."""
        with self.running([]), loaded(self.socket, rounds, seed=PARTS) as problems:
            pass
        return not problems and self.is_well()

    @contextmanager
    def running(self, guard: Sequence[str]) -> Iterator[None]:
        """While the block runs, it serves, behind the words of `guard`."""
        command = [*guard, str(self._program), str(self.pool), "serve", str(self.socket)]
        self.socket.unlink(missing_ok=True)
        process = subprocess.Popen(command, env=_environment(), stderr=subprocess.DEVNULL)
        try:
            _until(lambda: _answers(self.socket), process)
            yield
        finally:
            process.terminate()  # the guard hands it on
            process.wait()


def guard_command(log: Path) -> list[str]:
    """What stands before a service's command to guard it."""
    return [str(POWERCUT), "guard", "--restarts", "0", "--log", str(log), "--"]


def build(folder: Path, faults: Sequence[HardFault] | None = None) -> None:
    """Compile the services of some faults, by default the twelve, into a folder."""
    for name in sorted({fault.program for fault in faults or FAULTS}):
        sources = [str(SERVICES / f"{name}.c"), str(SERVICES / "service.c")]
        options = ["-g", "-O1", "-Wall", "-Wextra", "-Wno-clobbered", "-Werror", "-o", str(folder / name)]
        subprocess.run(["gcc", *options, *sources, "-lpmemobj", "-lpmem", "-pthread"], check=True)


@contextmanager
def loaded(path: Path, rounds: int, seed: int) -> Iterator[list[str]]:
    """While the block runs, clients set and get keys of their own; what went wrong, complete behind the block."""
    problems: list[str] = []
    clients = [
        threading.Thread(target=_load, args=(path, f"client{number}", rounds, seed, problems))
        for number in range(CLIENTS)
    ]
    for client in clients:
        client.start()
    try:
        yield problems
    finally:
        for client in clients:
            client.join()


def _load(path: Path, name: str, rounds: int, seed: int, problems: list[str]) -> None:
    rng = random.Random(f"{name} {seed}")
    known: dict[str, str] = {}
    try:
        with Client(path) as client:
            for number in range(seed * rounds, seed * rounds + rounds):
                key, value = f"{name}-{number % KEYS}", "x" * rng.randrange(8, 40)
                client.ask(f"set {key} {value}")
                known[key] = value
                key = rng.choice(sorted(known))
                if client.ask(f"get {key}") != [known[key]]:
                    problems.append(f"{key} is not what was set")
    except OSError as error:
        problems.append(str(error))


def _answers(path: Path) -> bool:
    with suppress(OSError), Client(path):
        return True
    return False


def _until(true: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + STARTS
    while not true():
        if process.poll() is not None or time.monotonic() > end:
            sys.exit(f"{process.args} did not start")
        time.sleep(0.01)


def _environment() -> dict[str, str]:
    return {**os.environ, **ENVIRONMENT}


def hash_of(key: str) -> int:
    """As the services compute it."""
    value = 0xCBF29CE484222325
    for byte in key.encode():
        value = (value ^ byte) * 0x100000001B3 % _ALL
    value ^= value >> 33
    value = value * 0xFF51AFD7ED558CCD % _ALL
    return value ^ value >> 33


def _keys(fits: Callable[[int], bool], name: str) -> Iterator[str]:
    """Keys whose hash is as wanted."""
    return (key for number in range(1 << 20) if fits(hash_of(key := f"{name}-{number}")))


def _overflow_references(path: Path) -> None:
    """Hold an item 256 times: it is free, and used for the next one of the same chain."""
    chain = hash_of("pinned") % 1024
    other = next(_keys(lambda value: value % 1024 == chain, "next"))
    with Client(path) as client:
        client.ask("set pinned value")
        client.ask(*["pin pinned"] * 255)
        client.ask(f"set {other} value", "get pinned")


def _flush_later(path: Path) -> None:
    with Client(path) as client:
        client.ask("flush_all 100000")


def _grow(client: Client, items: int) -> None:
    for first in range(0, items, 50):
        client.ask(*(f"set item-{number} some-value" for number in range(first, first + 50)))


def _race_for_a_chain(path: Path) -> None:
    """While the table grows, two clients add to one chain at once, until an item is lost."""
    keys = [list(islice(_keys(lambda value, at=at: value % 1024 == at, "rival"), 4)) for at in (511, 1023)]
    both = [*keys[0], *keys[1]]
    with Client(path) as one, Client(path) as two:
        _grow(one, 1000)
        for _ in range(900):
            sent = threading.Thread(target=one.ask, args=[f"set {key} value" for key in keys[0]])
            sent.start()
            two.ask(*(f"set {key} value" for key in keys[1]))
            sent.join()
            if "NONE" in one.ask(*(f"get {key}" for key in both)):
                return
            one.ask(*(f"delete {key}" for key in both))


def _append_too_much(path: Path) -> None:
    with Client(path) as client:
        client.ask("set early value")
        client.ask(*(f"set neighbour-{number} value" for number in range(4)))
        client.ask("append early " + "y" * 253)


def _flip_a_bit(path: Path) -> None:
    with Client(path) as client:
        _grow(client, 1400)
        client.ask("flip")


def _push_too_much(path: Path) -> None:
    """Into a list whose neighbour is in use."""
    with Client(path) as client:
        slot = hash_of("list") % 1024
        neighbour = next(_keys(lambda value: value % 1024 == (slot + 1) % 1024, "behind"))
        client.ask("push list short", f"push {neighbour} short")
        client.ask("push list " + "y" * 300)


def _give_up_twice(path: Path) -> None:
    with Client(path) as client:
        client.ask("set shared value", "getset shared other")
        client.ask("get shared")


def _be_slow(path: Path) -> None:
    with Client(path) as client:
        while client.ask("slow request") == ["OK"]:
            pass


def _fill_a_segment(path: Path) -> None:
    """Keys that all begin alike, and unlike those of others, until the directory cannot be doubled any more."""
    others = [f"client{client}-{number}" for client in range(CLIENTS) for number in range(KEYS)]
    others += [f"check-{number}" for number in range(PROBES)]
    begin = min(set(range(256)) - {hash_of(key) >> 56 for key in others})
    with Client(path) as client:
        for key in islice(_keys(lambda value: value >> 56 == begin, "alike"), 50):
            client.ask(f"set {key} value")


def _claim_too_much(path: Path) -> None:
    with Client(path) as client:
        client.ask(f"setlen huge {(1 << 32) - 10}:value")


def _reset_statistics(path: Path) -> None:
    with Client(path) as client:
        client.ask("stats", "stats reset")
        client.ask("stats")


def _delete_lazily(path: Path) -> None:
    """Set and delete, until no thread of the service finds room: what was deleted waits for ever."""
    refused = 0
    while refused < ARENAS:
        with Client(path) as client:
            refused += 1
            while client.ask("set lazy value") == ["OK"]:
                client.ask("delete lazy")
                refused = 0


FAULTS = (
    HardFault("f1", "cache", "reference count overflows", "hang", _overflow_references),
    HardFault("f2", "cache", "flush_all of a time to come", "data loss", _flush_later),
    HardFault("f3", "cache", "race for a chain of the table", "data loss", _race_for_a_chain),
    HardFault("f4", "cache", "length overflows in append", "crash", _append_too_much),
    HardFault("f5", "cache", "flag of a growing table flips", "data loss", _flip_a_bit),
    HardFault("f6", "lists", "entry longer than its list", "crash", _push_too_much),
    HardFault("f7", "lists", "reference given up twice", "panic", _give_up_twice),
    HardFault("f8", "lists", "log of slow requests leaks", "leak", _be_slow, is_leak=True),
    HardFault("f9", "extendible", "directory cannot be doubled", "hang", _fill_a_segment),
    HardFault("f10", "slabs", "length of a value overflows", "crash", _claim_too_much),
    HardFault("f11", "slabs", "statistics are gone", "crash", _reset_statistics),
    HardFault("f12", "map", "lazy free forgets", "leak", _delete_lazily, is_leak=True),
)
