"""Replaces `as` in a build with `powercut cc`: rewrites the compiler's output, then runs the real assembler.

A build never fails by it: text that the real assembler does not take with the records is assembled without them, and
that is said.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from powercut.assertions.assembly import Rewriter

# Options of as that have their value in the next word.
_WITH_VALUE = frozenset(("-o", "-I", "-MD", "--MD", "--defsym", "-march", "-mtune", "--debug-prefix-map"))
_CANNOT_RUN = 127


def main(words: list[str]) -> int:
    """Assemble as the words say; the exit status of the real assembler."""
    real = shutil.which("as")
    if real is None:
        _say("no-assembler", "as", "cannot find the assembler; install binutils")
        return _CANNOT_RUN
    inputs = _inputs(words)
    if len(inputs) > 1 or any(word in ("--version", "--help", "--32", "--x32") for word in words):
        return subprocess.run([real, *words], check=False).returncode
    return _assemble(real, words, inputs[0] if inputs else None)


def _assemble(real: str, words: list[str], source: int | None) -> int:
    name = "-" if source is None else words[source]
    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    rewriter = Rewriter()
    text = rewriter.rewrite(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    rest = [word for number, word in enumerate(words) if number != source]
    with tempfile.TemporaryDirectory(prefix="powercut-as-") as folder:
        changed = Path(folder) / "text.s"
        changed.write_bytes(text)
        done = subprocess.run([real, *rest, str(changed)], check=False, stdin=subprocess.DEVNULL, capture_output=True)
        if done.returncode == 0:
            sys.stderr.buffer.write(done.stderr)
            _say_what_is_missing(rewriter, name)
            return 0
    plain = subprocess.run([real, *rest, "-"], check=False, input=data)
    if plain.returncode == 0:
        _say("cc-as-it-is", name, "built, but not tracked: the assembler does not accept it with the added records")
    return plain.returncode


def _inputs(words: list[str]) -> list[int]:
    """Which words are files to assemble."""
    return [
        number
        for number, word in enumerate(words)
        if (word == "-" or not word.startswith("-")) and (number == 0 or words[number - 1] not in _WITH_VALUE)
    ]


def _say_what_is_missing(rewriter: Rewriter, name: str) -> None:
    if rewriter.unknown:
        _say("cc-stores", name, f"some stores are not tracked: {', '.join(sorted(rewriter.unknown))}")
    if rewriter.intel:
        _say("cc-intel-syntax", name, "code in Intel syntax is not tracked")


def _say(slug: str, name: str, what: str) -> None:
    sys.stderr.write(f"powercut: {Path(name).name}: {what} [{slug}]\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
