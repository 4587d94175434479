"""A thread that stops often shares the tracer's processor; what the program can ask of that is as without a tracer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .tracer_kit import assert_replays, compile_c, record

pytestmark = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one processor only")

# `seen` asks the kernel in a way that the tracer does not notice, `asked` as programs do.
MASKS = r"""
#include <sched.h>
static void report(const char *what, int count) {
    char line[64];
    OK(write(must(open("report", O_CREAT | O_WRONLY | O_APPEND, 0600)), line, sprintf(line, "%s %d\n", what, count)));
}
static int seen(void) {
    char text[8192], *at;
    FILE *file = fopen("/proc/thread-self/status", "r");
    size_t length = fread(text, 1, sizeof(text) - 1, file);
    text[length] = 0;
    int count = 0;
    for (at = strstr(text, "Cpus_allowed:") + 13; *at != '\n'; at++)
        if (*at != ',' && *at != '\t')
            count += __builtin_popcount((unsigned)strtol((char[]){*at, 0}, NULL, 16));
    return count;
}
static int asked(void) {
    cpu_set_t set;
    OK(sched_getaffinity(0, sizeof(set), &set));
    return CPU_COUNT(&set);
}
/* On a busy machine it may take a while until it is worth it. */
static void work_until_it_shares(void) {
    int fd = must(open("data", O_CREAT | O_WRONLY, 0600));
    do {
        for (int i = 0; i < 2000; i++)
            OK(pwrite(fd, &i, sizeof(i), 4 * i));
    } while (seen() != 1);
    close(fd);
}
"""


def reports(data: Path, body: str) -> list[tuple[str, int]]:
    """What the program says of its processors."""
    run = record(data, [compile_c(data.parent, MASKS + body)])
    assert run.code == 0
    assert_replays(run)
    lines = (data / "report").read_text().splitlines()
    return [(what, int(count)) for what, count in (line.split() for line in lines)]


def test_all_processors_are_there_for_who_asks(data: Path) -> None:
    body = """
    static void *run(void *unused) { report("thread", seen()); return NULL; }
    int main(int argc, char **argv) {
        if (argc > 1) { report("executed", seen()); return 0; }
        pthread_t thread;
        work_until_it_shares();
        report("asked", asked());
        work_until_it_shares();
        OK(pthread_create(&thread, NULL, run, NULL));
        pthread_join(thread, NULL);
        work_until_it_shares();
        if (fork() == 0) { report("child", seen()); _exit(0); }
        OK(wait(NULL));
        work_until_it_shares();
        execl("/proc/self/exe", argv[0], "again", NULL);
        return 1;
    }"""
    all_of_them = len(os.sched_getaffinity(0))
    assert reports(data, body) == [(what, all_of_them) for what in ("asked", "thread", "child", "executed")]


def test_a_choice_of_the_program_holds(data: Path) -> None:
    body = """
    int main(void) {
        cpu_set_t all, two;
        OK(sched_getaffinity(0, sizeof(all), &all));
        CPU_ZERO(&two);
        for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&two) < 2; cpu++)
            if (CPU_ISSET(cpu, &all))
                CPU_SET(cpu, &two);
        work_until_it_shares();
        OK(sched_setaffinity(0, sizeof(two), &two));
        for (int i = 0; i < 2000; i++)
            OK(chmod("data", 0600));
        report("chosen", seen());
        return 0;
    }"""
    assert reports(data, body) == [("chosen", 2)]
