"""On a Ray cluster with two nodes: the same findings as here, and a node that is killed loses and doubles no verdict.

Ray is large, so this needs an environment of its own: `make test-ray`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from powercut.search.jobs import Executor, Job
from powercut.search.judging import Judging
from tests.integration.test_node import prepare

ray = pytest.importorskip("ray", reason="make test-ray")
from ray.cluster_utils import Cluster  # noqa: E402

pytestmark = pytest.mark.slow
SAVE = "for i in 1 2; do printf new > data/f.tmp && mv data/f.tmp data/f && echo saved; printf $i > data/g$i; done"
CHECK = """\
content=$(cat f) || exit 1
case "$content" in
    new) ;;
    old) if grep -q saved "$POWERCUT_ACKED"; then echo "f holds $content"; exit 1; fi ;;
    *) echo "f holds $content"; exit 1 ;;
esac
"""
QUICK = {"health_check_period_ms": 500, "health_check_failure_threshold": 4, "health_check_initial_delay_ms": 0}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes on this machine, with a core each."""
    os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "_system_config": QUICK})
    yield cluster
    cluster.shutdown()


@pytest.fixture
def second(cluster: Any) -> Iterator[Any]:
    """The node beside the head."""
    node = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    yield node
    if node in cluster.worker_nodes:
        cluster.remove_node(node)


def explore(here: Path, *options: str) -> dict[str, Any]:
    command = [
        sys.executable,
        "-m",
        "powercut",
        "test",
        "--dir",
        "data",
        "--check",
        "sh check",
        "--json",
        "report.json",
    ]
    done = subprocess.run(
        [*command, "--no-cache", *options, "--", "sh", "-c", SAVE],
        cwd=here,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 1, done
    assert "Traceback" not in done.stderr
    report: dict[str, Any] = json.loads((here / "report.json").read_text())
    return report


def essence(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The findings, without what may differ from run to run: which of several states was first."""
    kept = ("id", "kind", "message", "locations", "lost", "fix", "verdict", "models")
    return sorted(({key: finding[key] for key in kept} for finding in report["findings"]), key=lambda f: f["id"])


def test_the_same_findings_as_here(cluster: Any, second: Any, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "f").write_text("old")
    (tmp_path / "check").write_text(CHECK)
    here = explore(tmp_path, "--fs", "ext4-ordered,posix")
    there = explore(tmp_path, "--fs", "ext4-ordered,posix", "--executor", "ray", "--ray-address", cluster.address)
    assert len(here["findings"]) > 1
    assert essence(there) == essence(here)
    assert there["states"]["total"] == here["states"]["total"] and there["states"]["exhausted"]
    assert there["notes"] == here["notes"]


def answers(executor: Executor, jobs: list[Job], stop: Any = None, after: int = 10**9) -> dict[int, object]:
    """One verdict for each job; `stop` is called after some have come."""
    found: dict[int, object] = {}
    deadline = time.monotonic() + 120
    executor.submit(jobs)
    while len(found) < len(jobs):
        assert time.monotonic() < deadline
        for result in executor.results(1.0):
            assert result.id not in found, "doubled"
            found[result.id] = (result.verdict.outcome, result.verdict.code, result.verdict.output)
        if len(found) >= after:
            stop()
            after = 10**9
    assert executor.results(2.0) == []
    return found


def test_a_killed_node_loses_and_doubles_no_verdict(cluster: Any, second: Any, tmp_path: Path) -> None:
    judging, _, jobs = prepare(tmp_path)
    (tmp_path / "check").write_text("sleep 0.02; " + (tmp_path / "check").read_text())
    local, _ = judging.executor(anywhere=False)
    here = answers(local, jobs)
    local.close()
    remote = on(judging, cluster.address)
    try:
        assert len(remote._nodes) == 2
        kill = lambda: cluster.remove_node(second, allow_graceful=False)  # noqa: E731
        there = answers(remote, jobs, kill, after=len(jobs) // 4)
        assert there == here
        assert [note.rpartition(" was lost")[2] for note in remote.notes()] == [
            ": what it was doing went to other nodes"
        ]
    finally:
        remote.close()


def test_the_last_node_that_is_lost_ends_the_run(cluster: Any, second: Any, tmp_path: Path) -> None:
    """Only what a message says: the head cannot be killed without the cluster."""
    from powercut.errors import EnvironmentFailure

    judging, _, jobs = prepare(tmp_path)
    remote = on(judging, cluster.address)
    try:
        for node in remote._nodes:
            ray.kill(node.link)
        with pytest.raises(EnvironmentFailure, match="the last node of the Ray cluster was lost"):
            answers(remote, jobs)
    finally:
        remote.close()


def test_no_cluster_says_how_to_start_one(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    command = [sys.executable, "-m", "powercut", "test", "--dir", "data", "--check", "true", "--executor", "ray"]
    command += ["--ray-address", "127.0.0.1:1", "--", "sh", "-c", "echo > data/f"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert "cannot reach a Ray cluster at 127.0.0.1:1" in done.stderr and "[no-ray-cluster]" in done.stderr
    assert "Traceback" not in done.stderr


def on(judging: Judging, address: str) -> Any:
    """An executor of this process on the cluster."""
    from powercut.search.ray_executor import RayExecutor

    return RayExecutor(judging.timelines[0].trace.content, judging.node_setup(), address)
