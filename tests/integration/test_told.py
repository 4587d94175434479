"""What a program tells of its own stacks is a claim: whatever it says, the recording is whole."""

from __future__ import annotations

import sys
from pathlib import Path

from powercut.record.recorder import RecordOptions, record_command
from powercut.trace.layout import Kind
from powercut.trace.stack_names import stack_name
from powercut.trace.symbols import StackResolver, user_frame

TELLS = """\
import ctypes, os, random, struct
TRACER = 0x70637374
slot = bytearray(b"pctold1S" + struct.pack("<QQQ", 7, 8, 0))

def tell(data):
    try:
        return os.write(TRACER, data)
    except OSError as error:
        return -error.errno

assert tell(b"hello") == tell(b"") == tell(b"pctold2S" + bytes(24)) == -9
assert tell(slot) == len(slot)
tell(b"pctold1D" + struct.pack("<Q", 7) + b"node\\0Error\\n    at f (/here/told.js:5:1)")
tell(b"pctold1D" + struct.pack("<Q", 8) + b"node\\0Error\\n    at g (/here/asked.js:6:1)")
log = os.open("log", os.O_WRONLY | os.O_CREAT)
chance = random.Random(3)
for number in range(300):
    letter = chance.choice(b"SDAHNX").to_bytes(1, "little")
    data = struct.pack("<Q", chance.choice((0, 1, 7, 2**64 - 1))) + chance.randbytes(chance.choice((0, 1, 9, 70000)))
    if letter != b"S":  # the memory of another slot would be given back meanwhile
        tell(b"pctold1" + letter + data)
    os.write(log, b"%d\\n" % number)
ctypes.CDLL(None).write(TRACER, 12345, 4096)  # no memory of the program
os.fsync(log)
"""


def test_a_recording_holds_whatever_a_program_tells(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "tells.py").write_text(TELLS)
    options = RecordOptions(tmp_path / "data", tmp_path / "data", tmp_path / "trace")
    trace = record_command([sys.executable, str(tmp_path / "tells.py")], options).trace
    writes = trace.events[trace.of_kind(Kind.WRITE)]
    assert len(writes) == 300
    resolver = StackResolver.of(trace)
    frames = [resolver.frames(int(stack)) for stack in writes["stack"]]
    assert {(frame.file, frame.line) for frame in map(user_frame, frames[:1]) if frame} == {
        (str(tmp_path / "tells.py"), TELLS[: TELLS.index("os.write(log")].count("\n") + 1)
    }
    assert [(frame.line, frame.asked) for frame in frames[0][-2:]] == [(5, False), (6, True)]
    assert all(stack_name(trace, int(stack)) for stack in set(writes["stack"].tolist()))
