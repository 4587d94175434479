"""`powercut race --client`: a server is started, driven by a client and ended, again and again."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from powercut.native_programs import memory_tool
from tests.cli.kit import World

pytestmark = pytest.mark.skipif(memory_tool() is None, reason="there is no memory tracer")

# Two workers: one stores what is put, the other keeps a copy of it, which it makes durable first.
SERVER = r"""
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
static struct { _Alignas(64) volatile uint64_t value; _Alignas(64) volatile uint64_t copy; } *m;
static int wanted[2], given[2];
static void flush(volatile void *at) { __builtin_ia32_clflush((void *)at); __builtin_ia32_sfence(); }
static void *put(void *unused) {
    char byte;
    while (read(wanted[0], &byte, 1) == 1) { m->value = (uint64_t)byte; write(given[1], &byte, 1); flush(&m->value); }
    return unused;
}
static void *copy(void *unused) {
    char byte;
    while (read(given[0], &byte, 1) == 1) { m->copy = m->value + 1; flush(&m->copy); }
    return unused;
}
static int listen_at(const char *name) {
    struct sockaddr_in port = {.sin_family = AF_INET, .sin_port = htons(atoi(name))};
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    int unix_socket = name[0] == '/', s = socket(unix_socket ? AF_UNIX : AF_INET, SOCK_STREAM, 0);
    port.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    strncpy(path.sun_path, name, sizeof path.sun_path - 1);
    unlink(name);
    if (bind(s, unix_socket ? (void *)&path : (void *)&port, unix_socket ? sizeof path : sizeof port) || listen(s, 5))
        exit(1);
    return s;
}
int main(int argc, char **argv) {
    pthread_t t;
    int fd = open(argv[1], O_RDWR | O_CREAT, 0644);
    if (ftruncate(fd, 4096) || pipe(wanted) || pipe(given)) return 1;
    m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    pthread_create(&t, NULL, put, NULL);
    pthread_create(&t, NULL, copy, NULL);
    int s = listen_at(argv[2]);
    for (;;) {
        char byte;
        int c = accept(s, NULL, NULL);
        while (read(c, &byte, 1) == 1) { write(wanted[1], &byte, 1); write(c, "ok\n", 3); }
        close(c);
    }
}
"""
CLIENT = """
import socket, sys
where = sys.argv[1]
s = socket.socket(socket.AF_UNIX if where[0] == "/" else socket.AF_INET)
s.connect(where if where[0] == "/" else ("127.0.0.1", int(where)))
for _ in range(8):
    s.sendall(b"x")
    assert s.recv(3)
s.close()
"""


def commands(world: World, where: str) -> tuple[list[str], str]:
    """The server's command, and the client's."""
    program, client = world.here / "server", world.here / "client.py"
    (world.here / "server.c").write_text(SERVER)
    client.write_text(CLIENT)
    subprocess.run(["gcc", "-g", "-pthread", "-w", "-o", program, world.here / "server.c"], check=True)
    return [str(program), "data/pool", where], f"{sys.executable} {client} {where}"


@pytest.mark.parametrize("where", ["{port}", "socket"])
def test_a_server_is_driven_by_its_client_and_ended(world: World, where: str) -> None:
    where = str(world.here / "s") if where == "socket" else where
    server, client = commands(world, where)
    words = ("--client", client, "--recovery", "true", "--max-findings", "1", "--budget", "50s", "--json", "race.json")
    ended = world.run("race", "--dir", "data", *words, "--", *server)
    assert ended.code == 1, ended
    report = json.loads((world.here / "race.json").read_text())
    (bug,) = [one for one in report["findings"] if one["severity"] == "error"]
    assert bug["kind"] == "inter-thread"
    assert report["race"]["failures"] == {}
    assert ("has no {port}" in ended.err) is (where != "{port}")
    again = world.run("replay", f"1/{bug['id']}", "--tries", "2")
    assert again.code == 1, again


def test_a_client_that_fails_is_told(world: World) -> None:
    server, _ = commands(world, "{port}")
    words = ("--client", "sh -c 'exit 3'", "--recovery", "true")
    ended = world.run("race", "--dir", "data", *words, "--", *server)
    assert "has a client that exited with status 3" in ended.err
    assert ended.err.strip().endswith("[workload-failed]")


def test_a_server_without_a_recovery_is_refused(world: World) -> None:
    ended = world.run("race", "--dir", "data", "--client", "true", "--", "sh", "-c", "true")
    assert "--client needs --recovery" in ended.err
    assert ended.code == 2


# A thread for each connection; with `d`, each takes two locks, in another order than the other one.
LOCKS = r"""
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
static volatile uint64_t *m;
static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int clients[2];
static void *serve(void *number) {
    long first = (long)number;
    char byte;
    while (read(clients[first], &byte, 1) == 1) {
        if (byte == 'd') { pthread_mutex_lock(&locks[first]); usleep(300000); }
        if (byte == 'd') pthread_mutex_lock(&locks[1 - first]); // WAITS
        m[0]++;
        write(clients[first], "k", 1);
    }
    return 0;
}
int main(int argc, char **argv) {
    struct sockaddr_in port = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[2]))};
    int fd = open(argv[1], O_RDWR | O_CREAT, 0644), s = socket(AF_INET, SOCK_STREAM, 0);
    if (ftruncate(fd, 4096)) return 1;
    m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    port.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(s, (void *)&port, sizeof port) || listen(s, 5)) return 1;
    for (long i = 0;; i++) {
        pthread_t t;
        clients[i % 2] = accept(s, NULL, NULL);
        pthread_create(&t, NULL, serve, (void *)(i % 2));
    }
}
"""
ASKS = """
import socket, sys
said = sys.stdin.read(1).encode()
both = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(2)]
for one in both: one.sendall(said)
for one in both: assert one.recv(1)
"""


def test_a_deadlock_behind_a_socket_is_told_with_those_who_wait_for_each_other(world: World) -> None:
    program, client, seeds = world.here / "server", world.here / "asks.py", world.here / "seeds"
    (world.here / "server.c").write_text(LOCKS)
    client.write_text(ASKS)
    seeds.mkdir()
    for name, text in {"1": "x", "2": "d"}.items():
        (seeds / name).write_text(text)
    subprocess.run(["gcc", "-g", "-pthread", "-w", "-o", program, world.here / "server.c"], check=True)
    words = ("--client", f"{sys.executable} {client} {{port}}", "--recovery", "true", "--seeds", "seeds", "--jobs", "1")
    limits = ("--timeout", "8", "--budget", "45s", "--json", "race.json")
    ended = world.run("race", "--dir", "data", *words, *limits, "--", str(program), "data/pool", "{port}")
    found = json.loads((world.here / "race.json").read_text())["findings"]
    (deadlock,) = [one for one in found if one["kind"] == "deadlock"]
    line = next(number for number, text in enumerate(LOCKS.splitlines(), 1) if text.endswith("// WAITS"))
    assert [place["line"] for place in deadlock["locations"]] == [line, line], ended
