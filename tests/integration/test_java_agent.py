"""The agent in JVMs: hot loops keep their lines, the JVM says nothing of it, and what refuses it runs all the same."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from powercut.errors import EnvironmentFailure
from powercut.record.recorder import Recording, RecordOptions, record_command
from powercut.record.workload import record
from powercut.trace.layout import Kind
from powercut.trace.reader import Trace
from powercut.trace.symbols import StackResolver, only_own, user_frame

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "native" / "java" / "jvm.h"
HEADERS = sorted(Path("/usr/lib/jvm").glob("*/include/jvmti.h"))
needs_java = pytest.mark.skipif(shutil.which("javac") is None, reason="javac is not installed")
WRITES = 20_000
HOT = f"""\
import java.io.*;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.*;

class Hot {{
    static void io(FileOutputStream file, byte[] line) throws IOException {{
        file.write(line);
    }}

    static void nio(FileChannel file, ByteBuffer line) throws IOException {{
        line.rewind();
        file.write(line);
    }}

    public static void main(String[] args) throws Exception {{
        Thread other = new Thread(() -> {{
            Path path = Path.of("nio");
            try (FileChannel file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {{
                for (int i = 0; i < {WRITES}; i++) nio(file, ByteBuffer.allocate(64));
            }} catch (IOException e) {{
                throw new UncheckedIOException(e);
            }}
        }});
        other.start();
        try (FileOutputStream file = new FileOutputStream("io")) {{
            for (int i = 0; i < {WRITES}; i++) io(file, new byte[64]);
        }}
        other.join();
        System.err.println("done");
    }}
}}
"""
ASK = """\
import java.io.*;
import java.nio.file.*;
import java.util.concurrent.*;

class Ask {
    static void write(String name) {
        try {
            Files.createFile(Path.of(name));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static Callable<Object> touch(String name) {
        return () -> { write(name); return null; };
    }

    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        for (int i = 0; i < 3; i++) {
            pool.submit(touch("submit" + i)).get();
            int j = i;
            pool.execute(() -> write("execute" + j));
        }
        CompletableFuture.runAsync(() -> write("async")).get();
        CompletableFuture.supplyAsync(() -> { write("supply"); return 0; }, pool).get();
        pool.shutdown();
        ScheduledExecutorService later = Executors.newScheduledThreadPool(1);
        later.schedule(touch("later"), 1, TimeUnit.MILLISECONDS).get();
        later.shutdown();
        Thread thread = new Thread(() -> write("thread"));
        thread.start();
        thread.join();
        write("main");
    }
}
"""


def options_in(here: Path) -> RecordOptions:
    (here / "data").mkdir()
    return RecordOptions(here / "data", here / "data", here / "trace", runtimes=True)


def recorded(here: Path, *command: str) -> Recording:
    return record_command(command, options_in(here))


def lines_of(trace: Trace, kind: Kind) -> Counter[str]:
    resolver = StackResolver.of(trace)
    events = trace.events[trace.of_kind(kind)]
    found = (user_frame(resolver.frames(int(stack))) for stack in events["stack"])
    return Counter(f"{frame.function}:{frame.line}" if frame else "none" for frame in found)


@needs_java
def test_each_write_of_a_hot_compiled_loop_has_its_line(tmp_path: Path) -> None:
    (tmp_path / "Hot.java").write_text(HOT)
    line = next(number for number, text in enumerate(HOT.splitlines(), 1) if "System.err" in text)
    subprocess.run(["javac", "Hot.java"], cwd=tmp_path, check=True)
    trace = recorded(tmp_path, "java", "-cp", str(tmp_path), "Hot").trace
    assert lines_of(trace, Kind.WRITE) == {"Hot.io:8": WRITES, "Hot.nio:13": WRITES}
    assert lines_of(trace, Kind.OUTPUT) == {f"Hot.main:{line}": 1}
    assert (tmp_path / "trace.err").read_text() == "done\n"


@needs_java
def test_who_asked_threads_and_executors_is_told(tmp_path: Path) -> None:
    (tmp_path / "Ask.java").write_text(ASK)
    subprocess.run(["javac", "Ask.java"], cwd=tmp_path, check=True)
    trace = recorded(tmp_path, "java", "-cp", str(tmp_path), "Ask").trace
    resolver, lines, found = StackResolver.of(trace), ASK.splitlines(), {}
    for event in trace.events[trace.of_kind(Kind.CREATE)]:
        name = trace.string(int(event["path"])).decode()
        own = only_own(resolver.frames(int(event["stack"])))
        found[name] = [lines[frame.line - 1].strip().partition("(")[0] for frame in own if frame.asked and frame.line]
    submitted = {f"{way}{number}": [f"pool.{way}"] for way in ("submit", "execute") for number in range(3)}
    asynchronous = {"async": ["CompletableFuture.runAsync"], "supply": ["CompletableFuture.supplyAsync"]}
    others = {"later": ["later.schedule"], "thread": ["thread.start"], "main": []}
    assert found == submitted | asynchronous | others


def test_a_program_that_does_not_start_with_agents_is_recorded_without_them(tmp_path: Path) -> None:
    refuses = 'test -z "$NODE_OPTIONS" || { echo "cannot load $NODE_OPTIONS" >&2; exit 9; }; echo new > file'
    said: list[str] = []

    def say(text: str, *, warning: bool = False) -> None:
        said.extend([text] if warning else [])

    trace = record(["sh", "-c", refuses], options_in(tmp_path), "calls", False, say)
    assert len(trace.of_kind(Kind.WRITE)) == 1
    assert said == [
        "the program fails with powercut's agents in its environment, so it was recorded without them: "
        "findings name the script instead of lines"
    ]


def test_a_program_that_fails_by_itself_is_not_run_again(tmp_path: Path) -> None:
    counts = f"echo run >> {tmp_path / 'runs'}; exit 3"
    with pytest.raises(EnvironmentFailure):
        record(["sh", "-c", counts], options_in(tmp_path), "calls", False, lambda *_, **__: None)
    assert (tmp_path / "runs").read_text() == "run\n"


@pytest.mark.skipif(not HEADERS, reason="no JDK has its headers here")
def test_functions_of_the_jvm_are_where_its_headers_say(tmp_path: Path) -> None:
    tables = {
        "JVM": "struct JNIInvokeInterface_",
        "JNI": "struct JNINativeInterface_",
        "JVMTI": "struct jvmtiInterface_1_",
    }
    found = re.findall(r"^    (JVM|JNI|JVMTI)_([A-Z][a-z]\w+) = ([\d -]+),", HEADER.read_text(), re.M)
    assert len(found) > 15
    checks = [
        f'_Static_assert(offsetof({tables[table]}, {name}) / sizeof(void *) == {number}, "{name}");'
        for table, name, number in found
    ]
    source = "\n".join(["#include <stddef.h>", "#include <jvmti.h>", *checks])
    for header in HEADERS:
        folders = ["-I", str(header.parent), "-I", str(header.parent / "linux")]
        command = ["gcc", "-x", "c", "-fsyntax-only", *folders, "-"]
        subprocess.run(command, input=source, text=True, check=True, stderr=sys.stderr)
