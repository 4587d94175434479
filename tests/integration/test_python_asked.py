"""Who asked for what a thread, a process of a pool or a task of Python does."""

from __future__ import annotations

import sys
from pathlib import Path, PurePath

from powercut.record.recorder import RecordOptions, record_command
from powercut.trace.layout import Kind
from powercut.trace.symbols import StackResolver, only_own

PROGRAM = """\
import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from queue import Queue
from threading import Thread

import package

def write(name):
    Path(name).touch()

class Own(Thread):
    def run(self):
        write("subclass")

async def save(name):
    await asyncio.sleep(0)
    write(name)

async def deeper(name):
    await asyncio.create_task(package.save(name))

async def main():
    write("main")
    task = asyncio.create_task(save("task"))  # task
    asyncio.get_running_loop().call_soon(write, "callback")  # callback
    async with asyncio.TaskGroup() as group:
        group.create_task(save("group"))  # group
        group.create_task(deeper("deeper"))  # deeper
    await task

if __name__ == "__main__":
    for thread in (Thread(target=write, args=("thread",)), Own()):
        thread.start()  # thread subclass
        thread.join()
    with ThreadPoolExecutor() as pool:
        list(pool.map(write, ["map"]))  # map
    with get_context("spawn").Pool(1) as processes:
        processes.map(Path.touch, [Path("spawned")])  # spawned
    package.in_own_pool(write, "library")
    asyncio.run(main())
"""
PACKAGE = """\
from pathlib import Path
from queue import Queue
from threading import Thread

async def save(name):
    Path(name).touch()

def in_own_pool(function, argument):
    queue = Queue()
    thread = Thread(target=lambda: queue.get()(argument))
    thread.start()
    queue.put(function)
    thread.join()
"""
WITHOUT_AGENT = """\
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

if __name__ == "__main__":
    del os.environ["PYTHONPATH"]
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        assert pool.submit(len, "four").result() == 4
"""


def test_a_process_without_the_agent_gets_the_same_jobs(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(WITHOUT_AGENT)
    (tmp_path / "data").mkdir()
    options = RecordOptions(tmp_path / "data", tmp_path / "data", tmp_path / "trace", runtimes=True)
    record_command([sys.executable, str(tmp_path / "program.py")], options)  # raises if the program fails


def asked_and_inside(here: Path, text: str) -> tuple[dict[str, list[list[str]]], dict[str, list[str]]]:
    """For each file that a program makes, the comments of the lines that asked for it, and the functions inside."""
    program = here / "program.py"
    program.write_text(text)
    (here / "data").mkdir()
    options = RecordOptions(here / "data", here / "data", here / "trace", runtimes=True)
    trace = record_command([sys.executable, str(program)], options).trace
    resolver, lines = StackResolver.of(trace), text.splitlines()
    asked, inside = {}, {}
    for event in trace.events[trace.of_kind(Kind.CREATE)]:
        name = PurePath(trace.string(int(event["path"])).decode()).name
        own = only_own(resolver.frames(int(event["stack"])))
        told = [frame.line - 1 for frame in own if frame.asked and frame.line]
        asked[name] = [lines[line].partition("  # ")[2].split() for line in told]
        inside[name] = [frame.function for frame in own if not frame.asked]
    return asked, inside


# The parts of trio and anyio that give jobs to threads of their own, as trio 0.35 and anyio 4.16 have them.
LIBRARIES = {
    "trio/_core/_thread_cache.py": """\
from queue import Queue
from threading import Thread

class ThreadCache:
    def __init__(self):
        self.jobs = Queue()
        Thread(target=self.work, daemon=True).start()

    def work(self):
        while True:
            function, deliver, name = self.jobs.get()
            deliver(function())

    def start_thread_soon(self, fn, deliver, name=None):
        self.jobs.put((fn, deliver, name))
""",
    "anyio/_backends/_asyncio.py": """\
from queue import Queue
from threading import Thread

jobs = Queue()

def work():
    while True:
        function, arguments, done = jobs.get()
        done.put(function(*arguments))

class AsyncIOBackend:
    @classmethod
    async def run_sync_in_worker_thread(cls, func, args, abandon_on_cancel=False, limiter=None):
        Thread(target=work, daemon=True).start()
        done = Queue()
        jobs.put((func, args, done))
        return done.get()
""",
}
ASKS = """\
import asyncio
import sys
from pathlib import Path
from queue import Queue

sys.path.append(SITE)
from anyio._backends._asyncio import AsyncIOBackend
from trio._core._thread_cache import ThreadCache

async def main():
    done = Queue()
    ThreadCache().start_thread_soon(Path("trio").touch, done.put, "a name")  # trio
    done.get()
    await AsyncIOBackend.run_sync_in_worker_thread(Path.touch, (Path("anyio"),), limiter=None)  # anyio

asyncio.run(main())
"""


def test_lines_that_asked_libraries_with_threads_of_their_own(tmp_path: Path) -> None:
    site = tmp_path / "lib" / "site-packages"
    for name, text in LIBRARIES.items():
        (site / name).parent.mkdir(parents=True)
        (site / name).write_text(text)
    asked = asked_and_inside(tmp_path, ASKS.replace("SITE", repr(str(site))))[0]
    assert asked == {name: [[name], []] for name in ("trio", "anyio")}, "and the line that started the loop"


def test_lines_that_asked(tmp_path: Path) -> None:
    package = tmp_path / "site-packages"
    package.mkdir()
    (package / "package.py").write_text(PACKAGE)
    text = PROGRAM.replace("import package", f"sys.path.append({str(package)!r})\nimport package")
    asked, inside = asked_and_inside(tmp_path, text)
    for name in ("thread", "subclass", "map", "spawned", "task", "callback", "group"):
        assert name in asked[name][0], (name, asked[name])
    assert ["deeper"] in asked["deeper"][1:], "what a task asked for, the asker of the task asked for"
    assert asked["main"] == [], "the stack says it: the loop was started there"
    assert inside["main"][-1] == "<module>"
    assert asked["library"] == [], "who starts a library's thread asks for nothing of what it does"
    assert inside["task"] == ["write", "save"], "outside of a task is the loop"
