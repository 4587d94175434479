"""docs/assertions.md says what the engine does: every kind, every call, every model, and examples that compile."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from powercut.assertions.checker import MODELS
from powercut.assertions.kinds import kinds
from powercut.report.assertions import check_document
from powercut.runs.store import SavedRun

ROOT = Path(__file__).resolve().parents[2]
RUNTIME = ROOT / "native" / "runtime"
PAGE = (ROOT / "docs" / "assertions.md").read_text()


def test_every_kind_is_in_the_table_and_no_other() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \|(?: `([a-z-]+)`)? ?\| (fail|warn) \|", PAGE, re.MULTILINE)
    assert set(rows) == {(kind.kind, kind.why, kind.severity) for kind in kinds()}


def test_every_call_of_the_header_is_explained() -> None:
    header = (RUNTIME / "include" / "powercut.h").read_text()
    calls = set(re.findall(r"^#define (pc_\w+)\(", header, re.MULTILINE)) | {"pc_get_results", "pc_count_results"}
    assert {call for call in calls if f"`{call}(" not in PAGE} == set()


def test_every_name_of_the_paper_is_explained() -> None:
    table = "INIT EXIT THREAD_INIT START END EXCLUDE INCLUDE REG_VAR UNREG_VAR GET_VAR SEND_TRACE GET_RESULT"
    names = {f"PMTest_{name}" for name in table.split()} | {"isPersist", "isOrderedBefore"}
    names |= {"TX_CHECKER_START", "TX_CHECKER_END"}
    header = (RUNTIME / "include" / "pmtest.h").read_text()
    assert {name for name in names if f"`{name}`" not in PAGE or f"#define {name}" not in header} == set()


def test_models_are_those_of_the_engine() -> None:
    engine = {re.search(r'\.name = "(\w+)"', path.read_text())[1] for path in RUNTIME.glob("engine/model_*.c")}
    assert engine == set(MODELS)
    assert f"| | {' | '.join(('x86', 'armv8', 'eadr', 'hops'))} |" in PAGE


def test_every_field_of_the_report_is_explained() -> None:
    facts = dict.fromkeys(("operations", "threads", "code", "signal", "ending"), 0)
    assert {field for field in check_document(SavedRun(assertions=facts)) if f"`{field}`" not in PAGE} == set()


def test_what_a_program_says_by_itself_is_explained() -> None:
    said = {code for path in RUNTIME.glob("program/*.c") for code in re.findall(r"\[([a-z-]+)\]\\n", path.read_text())}
    page = (ROOT / "docs" / "messages.md").read_text()
    assert len(said) >= 4
    assert {code for code in said if f"`[{code}]`" not in page} == set()


EXAMPLES = re.findall(r"^```c\n(/\* native/runtime/engine/.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("block", EXAMPLES, ids=["model", "checker"])
def test_example_compiles(block: str, tmp_path: Path) -> None:
    source = tmp_path / "example.c"
    source.write_text(block)
    folders = [f"-I{RUNTIME / folder}" for folder in ("include", "engine")]
    flags = ["-std=gnu11", "-Wall", "-Werror", "-DPOWERCUT", "-DKIND_IDLE_FENCE=0", "-fsyntax-only"]
    subprocess.run(["cc", *flags, *folders, str(source)], check=True)
