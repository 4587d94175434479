"""The memory tracer under runtimes that compile while they run: of their own memory lint has nothing to say."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))

from harness import powercut_test

from powercut.native_programs import why_no_memory_tool

pytestmark = pytest.mark.skipif(bool(why_no_memory_tool()), reason=why_no_memory_tool() or "there is one")
JAVA = """\
import java.io.RandomAccessFile;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;

class Mapped {
    public static void main(String[] args) throws Exception {
        try (RandomAccessFile file = new RandomAccessFile("pool", "rw")) {
            MappedByteBuffer map = file.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, 4096);
            map.putLong(64, 42);
            map.force();
        }
    }
}
"""
NODE = """\
const fs = require('fs');
const fd = fs.openSync('pool', 'r+');
fs.writeSync(fd, 'whole');
fs.fsyncSync(fd);
let sum = 0;
for (let i = 0; i < 100000; i++) sum += i % 7;
"""


def output_of(here: Path, *command: str) -> str:
    data = here / "data"
    data.mkdir()
    (data / "pool").write_bytes(bytes(4096))
    (here / "check").write_text("cat pool > /dev/null\n")
    options = ("--tracer", "memory")
    run = powercut_test([*command], f"sh {here / 'check'}", data, inside=True, options=options)
    assert run.code == 0, run.output
    return run.output


@pytest.mark.skipif(shutil.which("javac") is None, reason="javac is not installed")
def test_code_that_a_jvm_compiles_is_no_misuse(tmp_path: Path) -> None:
    (tmp_path / "Mapped.java").write_text(JAVA)
    subprocess.run(["javac", "Mapped.java"], cwd=tmp_path, check=True)
    output = output_of(tmp_path, "java", "-XX:TieredStopAtLevel=1", "-cp", str(tmp_path), "Mapped")
    assert "Lint reports" not in output, output
    assert "agent" not in output, "the memory tracer hears none, so none is missing"


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_what_node_compiles_and_logs_is_no_misuse(tmp_path: Path) -> None:
    (tmp_path / "save.js").write_text(NODE)
    options = ("--perf-basic-prof", "--interpreted-frames-native-stack")
    output = output_of(tmp_path, "node", *options, str(tmp_path / "save.js"))
    assert "Lint reports" not in output, output
    assert "agent" not in output
