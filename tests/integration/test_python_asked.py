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


def test_lines_that_asked(tmp_path: Path) -> None:
    package = tmp_path / "site-packages"
    package.mkdir()
    (package / "package.py").write_text(PACKAGE)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("import package", f"sys.path.append({str(package)!r})\nimport package"))
    (tmp_path / "data").mkdir()
    options = RecordOptions(tmp_path / "data", tmp_path / "data", tmp_path / "trace", runtimes=True)
    trace = record_command([sys.executable, str(program)], options).trace
    resolver = StackResolver.of(trace)
    lines = program.read_text().splitlines()
    asked, inside = {}, {}
    for event in trace.events[trace.of_kind(Kind.CREATE)]:
        name = PurePath(trace.string(int(event["path"])).decode()).name
        own = only_own(resolver.frames(int(event["stack"])))
        told = [frame.line - 1 for frame in own if frame.asked and frame.line]
        asked[name] = [lines[line].partition("  # ")[2].split() for line in told]
        inside[name] = [frame.function for frame in own if not frame.asked]
    for name in ("thread", "subclass", "map", "spawned", "task", "callback", "group"):
        assert name in asked[name][0], (name, asked[name])
    assert ["deeper"] in asked["deeper"][1:], "what a task asked for, the asker of the task asked for"
    assert asked["main"] == [], "the stack says it: the loop was started there"
    assert inside["main"][-1] == "<module>"
    assert asked["library"] == [], "who starts a library's thread asks for nothing of what it does"
    assert inside["task"] == ["write", "save"], "outside of a task is the loop"
