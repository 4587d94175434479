"""The documentation says what the code does: every message, every option, every setting, every field of the report."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from docsite.messages import messages

from powercut.commands.main import COMMANDS, cli
from powercut.findings.finding import Finding, FindingKind, Fix, Location, SavedState, Tried, TriedOutcome
from powercut.matching.differences import Difference
from powercut.matching.result import Fate, MatchResult, Moment, RowAnswer
from powercut.model.filesystem import FILE_SYSTEMS
from powercut.report.json_report import document, tried_document
from powercut.report.match import match_document
from powercut.report.syncs import syncs_document
from powercut.report.try_text import TrialDocument
from powercut.runs.store import BehaviorCounts, SavedRun
from powercut.search.events import Counts
from powercut.settings import Settings, load_settings
from powercut.states.estimate import Estimate
from powercut.syncs.sites import Site
from powercut.syncs.sync_verdict import Judgement, Need, SyncReport, SyncsRun, Why
from powercut.testing.run_figures import states_of

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += sorted((ROOT / "docs").rglob("*.md"))
NOT_IN_DOCS = {"readme.md", "architecture.md", "contributing.md", "changelog.md", "benchmarks.md", "corpus.md"}


def documented() -> set[str]:
    """The codes that docs/messages.md explains: one row of a table each."""
    return set(re.findall(r"^\| `([a-z-]+)` \|", (ROOT / "docs" / "messages.md").read_text(), re.MULTILINE))


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^ *```{language}\n(.*?)^ *```", page.read_text(), re.MULTILINE | re.DOTALL)


def shown_commands() -> Iterator[list[str]]:
    """Command lines of powercut in shell blocks of all pages, without the workload."""
    for page in PAGES:
        for line in "".join(blocks(page, "sh")).splitlines():
            if line.startswith("powercut "):
                words = shlex.split(line, comments=True)[1:]
                yield words[: words.index("--")] if "--" in words else words


def test_the_search_for_messages_finds_each_way_of_making_one() -> None:
    """Otherwise the next test passes by seeing nothing."""
    by_each_way = {"unknown-fs", "bad-setting", "scratch-full", "copy-failed", "worker-failed", "interrupted"}
    assert by_each_way <= set(messages())


def test_every_message_is_explained() -> None:
    missing = {slug: found.files for slug, found in messages().items() if slug not in documented()}
    assert not missing, "explain these in docs/messages.md"


def test_no_message_is_explained_that_does_not_exist() -> None:
    assert documented() <= set(messages())


def test_architecture_is_short() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text().splitlines()) < 120


def test_shown_commands_and_their_options_exist() -> None:
    commands = list(shown_commands())
    assert len(commands) > 8
    for name, *words in commands:
        assert name in COMMANDS
        command = cli.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        if command.context_settings.get("ignore_unknown_options"):
            continue  # its words are a compiler's
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        for word in words:
            if word.startswith("-"):
                assert word.partition("=")[0] in known, f"powercut {name} has no {word}"


def test_every_command_is_shown() -> None:
    assert {words[0] for words in shown_commands()} == set(cli.list_commands(None))  # type: ignore[arg-type]


def test_settings_that_are_shown_are_all_there_are(tmp_path: Path) -> None:
    (block,) = blocks(ROOT / "docs" / "settings.md", "toml")
    (tmp_path / "powercut.toml").write_text(block)
    load_settings(tmp_path, {})
    shown = set(re.findall(r"^([a-z-]+) =", block, re.MULTILINE))
    assert shown == {field.encode_name for field in msgspec.structs.fields(Settings)}


def test_defaults_that_are_shown_are_right(tmp_path: Path) -> None:
    (block,) = blocks(ROOT / "docs" / "settings.md", "toml")
    (tmp_path / "powercut.toml").write_text(block)
    shown, defaults = load_settings(tmp_path, {}), Settings()
    different = {name for name in Settings.__struct_fields__ if getattr(shown, name) != getattr(defaults, name)}
    no_default = {"dir", "check", "max_states", "ray_address", "scratch", "equivalence"}
    assert different == no_default


def test_every_field_of_the_report_is_explained() -> None:
    state = SavedState("xfs", 4096, 2, "issued", (0,))
    place = Location("f.py", 1, "f", "lost")
    texts = {"outcome": "fail", "code": 1, "output": ""}
    finding = Finding(FindingKind.ORDERING, "m", [place], Fix("t", True), [], [], state, **texts)
    states = states_of(Counts(total=Estimate(9.5, 0.1)))
    counts = {name: 0 for name in BehaviorCounts.__struct_fields__ if name not in ("model", "told_by")}
    behaviors = [BehaviorCounts(model="xfs", told_by=[], **counts)]
    report = document(SavedRun(findings=[finding], states=states, behaviors=behaviors))
    page = (ROOT / "docs" / "findings.md").read_text()
    missing = {key for key in keys(report) if f"`{key}`" not in page}
    assert not missing


def test_every_field_of_the_table_of_syncs_is_explained() -> None:
    place = Location("f.c", 1, "f", "sync")
    texts = {"outcome": "fail", "code": 1, "output": ""}
    finding = Finding(
        FindingKind.ORDERING, "m", [place], None, [], [], SavedState("xfs", 4096, 2, "issued", ()), **texts
    )
    judgements = [Judgement("xfs", Need.NEEDED, Why.FAILS, finding=finding)]
    site = Site("fsync", np.array([1]), place, None, None, ("f",), 0, 1)
    run = SyncsRun([SyncReport(site, judgements)], [], "", "xfs", 1, 0.0, interrupted=False, notes=[])
    page = (ROOT / "docs" / "syncs.md").read_text()
    assert not {key for key in keys(syncs_document(run)) if f"`{key}`" not in page}
    assert not [word for word in (*Need, *Why) if f"`{word}`" not in page]


def test_every_field_of_a_trial_is_explained() -> None:
    tried = tried_document(Tried(TriedOutcome.STILL_THERE, 1, 2, ("a",), "a", "0001/tried/a"))
    page = (ROOT / "docs" / "try.md").read_text()
    assert not {key for key in keys(msgspec.to_builtins(TrialDocument("a", "b", tried, []))) if f"`{key}`" not in page}
    assert [outcome for outcome in TriedOutcome if f"`{outcome}`" not in page] == []


def test_every_field_of_a_match_is_explained() -> None:
    fate = Fate(1, (), (), 0, 0)
    row = RowAnswer("xfs", False, True, moments=(Moment(1, 2, "", "", "", ""),), fate=fate, nearest=fate)
    row = replace(row, differences=(Difference(b"f", "gone"),))
    page = (ROOT / "docs" / "match.md").read_text()
    assert not {key for key in keys(match_document(MatchResult((row,)), "", "")) if f"`{key}`" not in page}


def keys(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for inner in value.values():
            yield from keys(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from keys(inner)


def test_every_kind_of_finding_is_explained() -> None:
    page = (ROOT / "docs" / "findings.md").read_text()
    assert [kind for kind in FindingKind if f"| `{kind.value}` |" not in page] == []


def test_table_of_rows_is_that_of_the_code() -> None:
    lines = (ROOT / "docs" / "models.md").read_text().splitlines()
    head = next(line for line in lines if line.startswith("| answer |"))
    names = [cell.strip() for cell in head.strip("|").split("|")][1:]
    assert names == list(FILE_SYSTEMS)
    for field in next(iter(FILE_SYSTEMS.values())).__dataclass_fields__:
        if field not in ("name", "memory"):  # the memory is said by --memory
            line = next(line for line in lines if line.startswith(f"| `{field}`"))
            cells = [cell.strip() for cell in line.strip("|").split("|")][1:]
            assert cells == [in_words(getattr(row, field)) for row in FILE_SYSTEMS.values()], field


def in_words(answer: object) -> str:
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    return str(getattr(answer, "value", answer))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", page.read_text()):
        found = page.parent / target if target else page
        assert found.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors(found), f"{page.name} links to {target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """What headings can be linked to, as GitHub and the site name them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


def test_every_page_is_on_the_site() -> None:
    """`make site` says the same; this needs no mkdocs."""
    listed = set(re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert listed - {f"project/{name}" for name in NOT_IN_DOCS} == pages


def test_readme_is_read_in_two_minutes() -> None:
    prose = re.sub(r"^```.*?^```", "", (ROOT / "README.md").read_text(), flags=re.MULTILINE | re.DOTALL)
    assert len(prose.split()) < 650
