"""`powercut race`: races are found, judged, saved and replayed; what cannot be tested is refused with a reason."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from powercut.native_programs import memory_tool
from tests.cli.kit import World

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))

from race_cases import RaceBuilt, race_cases

pytestmark = pytest.mark.skipif(memory_tool() is None, reason="there is no memory tracer")
CASES = {case.name: case for case in race_cases()}

PROGRAM = """\
#include <fcntl.h>
#include <immintrin.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile char *pool;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *store(void *name) { pool[64] = *(char *)name; return NULL; }
static void *apart(void *name) { pool[64 * (*(char *)name - 'a' + 1)] = 1; return NULL; }
static void *copy(void *name) { if (*(char *)name == 'a') pool[64] = 1; else pool[128] = pool[64]; return NULL; }
static void *die(void *name) {
    if (*(char *)name == 'a') {
        pool[64] = 1; _mm_clflush((void *)&pool[64]);
        pool[128] = 1; _mm_clflush((void *)&pool[128]);
    } else if (pool[64] && !pool[128])
        raise(SIGSEGV);
    return NULL;
}
static void *hang(void *name) { pthread_mutex_lock(&lock); pthread_mutex_lock(&lock); return name; }
static void both(void *(*run)(void *)) {
    pthread_t one, two;
    pthread_create(&one, NULL, run, "a");
    pthread_create(&two, NULL, run, "b");
    pthread_join(one, NULL);
    pthread_join(two, NULL);
}
int main(int argc, char **argv) {
    char line[64];
    int fd = open("data/pool", O_RDWR | O_CREAT, 0644);
    ftruncate(fd, 4096);
    pool = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    pool[0] = 1;
    if (argc > 1 && !strcmp(argv[1], "commands"))
        while (fgets(line, sizeof line, stdin))
            puts("refused: what is that?");
    const char *how = argc > 1 ? argv[1] : "store";
    void *(*run)(void *) = !strcmp(how, "hang") ? hang : !strcmp(how, "die") ? die : store;
    run = !strcmp(how, "apart") ? apart : !strcmp(how, "copy") ? copy : run;
    if (strcmp(how, "alone"))
        both(run);
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A program with two threads, which can be told what they do, to have one, to hang, or to refuse commands."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "p.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-pthread", "-w", "-o", folder / "p", folder / "p.c"], check=True)
    return str(folder / "p")


def built(world: World, case: str, twin: str) -> RaceBuilt:
    folder = world.here / "built"
    folder.mkdir()
    return CASES[case].build(twin, folder)


def race(world: World, made: RaceBuilt, *options: str) -> tuple[int, str, dict]:
    """Run it; the exit code, the text and the report."""
    judges = ("--recovery", made.recovery, "--check", made.check)
    words = ("race", "--dir", str(made.data), *judges, "--json", "race.json", *options, "--", *made.workload)
    ended = world.run(*words)
    return ended.code, ended.out, json.loads((world.here / "race.json").read_text())


def test_a_race_is_found_shown_and_seen_again(world: World) -> None:
    made = built(world, "figure-1", "buggy")
    code, text, report = race(world, made, "--max-findings", "1")
    (found,) = [one for one in report["findings"] if one["kind"] == "inter-thread"]
    assert code == 1
    assert [place["role"] for place in found["locations"]] == ["stored", "read", "effect"]
    assert [Path(place["file"]).name for place in found["locations"]] == ["buggy.c"] * 3
    assert found["race"]["standing"] == "bug"
    assert found["id"] in text
    assert report["race"]["executions"] > 0
    shown = world.run("show", found["id"])
    assert shown.code == 0
    assert "the folder after the crash, compared with the moment before it" in shown.out
    again = world.run("replay", f"1/{found['id']}", "--tries", "3", "--image", "crashed")
    assert again.code == 1
    assert again.out == "The race was seen again in 3 of 3 executions.\n"
    assert (world.here / "crashed" / "pool").stat().st_size > 0


def test_the_fixed_twin_is_silent(world: World) -> None:
    code, text, report = race(world, built(world, "rebuilt", "fixed"), "--max-executions", "4")
    assert (code, report["findings"]) == (0, [])
    assert "\nNo races. " in text


def test_what_is_allowed_is_listed_and_no_finding(world: World) -> None:
    (world.here / "powercut.toml").write_text('[race.allow]\n"write_*" = "checksummed"\n')
    code, text, report = race(world, built(world, "checksummed", "buggy"), "--max-executions", "6")
    assert (code, report["findings"]) == (0, [])
    assert "write_*: checksummed" in text


def test_threads_that_share_nothing_are_told(world: World, program: str) -> None:
    ended = world.run("race", "--dir", "data", "--max-executions", "1", "--", program, "apart")
    assert ended.code == 0
    assert "no two threads used the same word of a mapped file, so nothing could race" in ended.err


def test_a_program_that_recovers_by_doing_its_work_again_is_told_what_that_hides(world: World, program: str) -> None:
    ended = world.run("race", "--dir", "data", "--max-executions", "4", "--", program, "copy")
    assert ended.code == 0
    assert "warning: 1 of the inconsistencies count as repaired" in ended.err


def refusal(world: World, *words: str) -> str:
    """The message of a run that is refused."""
    ended = world.run("race", "--dir", "data", *words)
    assert ended.code == (2 if "grammar" in ended.err.rpartition("[")[2] else 3), ended
    assert not (world.here / ".powercut" / "runs" / "0001").exists()
    return ended.err


def test_a_program_that_maps_nothing_is_told_so(world: World) -> None:
    assert "[maps-nothing]" in refusal(world, "--", "sh", "-c", "true")


def test_a_program_with_one_thread_is_told_so(world: World, program: str) -> None:
    said = refusal(world, "--", program, "alone")
    assert "never starts a second thread" in said
    assert "[one-thread]" in said


def test_a_program_that_deadlocks_by_itself_is_told_so_with_the_stacks(world: World, program: str) -> None:
    said = refusal(world, "--timeout", "20", "--", program, "hang")
    assert "[program-deadlocks]" in said
    assert said.count("hang at ") == 2
    assert "main at " in said


def test_a_signal_that_kills_the_program_in_one_order_of_threads_only_is_a_finding_and_replays(
    world: World, program: str
) -> None:
    ended = world.run("race", "--dir", "data", "--max-findings", "1", "--json", "race.json", "--", program, "die")
    assert ended.code == 1, ended
    (found,) = [one for one in json.loads((world.here / "race.json").read_text())["findings"] if one["kind"] == "death"]
    assert "was killed by signal 11" in found["message"]
    assert any("die at " in frame for frame in found["locations"][0]["stack"])
    again = world.run("replay", f"1/{found['id']}", "--tries", "3")
    assert again.out == "The race was seen again in 3 of 3 executions.\n"


def test_a_program_that_fails_is_told_so(world: World) -> None:
    assert "[workload-failed]" in refusal(world, "--", "sh", "-c", "exit 3")


def test_a_recovery_that_refuses_a_clean_end_is_refused_itself(world: World, program: str) -> None:
    said = refusal(world, "--recovery", "sh -c 'echo not so; exit 1'", "--", program)
    assert "[recovery-fails]" in said
    assert "not so" in said


def test_a_grammar_of_which_the_program_understands_nothing_is_refused_with_the_share(
    world: World, program: str
) -> None:
    (world.here / "g.toml").write_text('refused = "^refused"\noperations = 5\n[command.put]\nform = "put"\n')
    said = refusal(world, "--grammar", "g.toml", "--", program, "commands")
    assert "[grammar-refused]" in said
    assert "refused all 5 commands" in said


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--schedule", "fast"), "usage"),
        (("--jobs", "0"), "usage"),
        (("--seeds", "nowhere"), "bad-seeds"),
        (("--grammar", "nowhere.toml"), "bad-grammar"),
        (("--check", "nowhere"), "no-such-program"),
        (("--recovery", " "), "bad-check"),
        (("--threads", "2"), "usage"),
        (("--memory", "none"), "unknown-memory"),
        (("--timeout", "0"), "bad-setting"),
    ],
)
def test_what_cannot_be_is_refused_before_the_program_runs(world: World, words: tuple[str, ...], code: str) -> None:
    ended = world.run("race", "--dir", "data", *words, "--", "sh", "-c", "touch /dev/shm/should-not-run")
    assert ended.code in (2, 3)
    assert ended.err.strip().endswith(f"[{code}]")


def test_an_interrupted_search_is_saved(world: World, program: str) -> None:
    ended = world.run("race", "--dir", "data", "--budget", "0.001s", "--", program)
    assert ended.code == 0  # the first execution counts
    assert "1 executions" in ended.out
