"""`rillway cluster restart` and `upgrade`, in processes."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redis

from rillway.cluster.folder import ClusterFolder
from tests.rillway.cluster.conftest import Run
from tests.support.programs.ports import free_ports

pytestmark = pytest.mark.integration


@pytest.mark.thorough
def test_all_nodes_restart_under_load(run: Run) -> None:
    port = free_ports(6)
    assert run("start", "--nodes", "3", "--replicas", "1", "--port", str(port)).returncode == 0
    added: list[str] = []
    before = pids(run)
    is_over = threading.Event()

    def add() -> None:
        with redis.RedisCluster(host="127.0.0.1", port=port, decode_responses=True) as client:
            while not is_over.is_set():
                added.append(client.xadd("s", {"n": len(added)}))

    with ThreadPoolExecutor() as threads:
        adding = threads.submit(add)
        try:
            restarted = run("restart")
        finally:
            is_over.set()
        adding.result()
    assert restarted.returncode == 0, restarted.stderr
    assert not set(before) & set(pids(run))
    with redis.RedisCluster(host="127.0.0.1", port=port, decode_responses=True) as client:
        assert [entry for entry, _ in client.xrange("s")] == added


def test_a_restart_that_was_cut_goes_on(run: Run, tmp_path: Path) -> None:
    port = free_ports(2)
    words = ("start", "--nodes", "2", "--port", str(port))
    assert run(*words, "--", "--maxmemory", "1").returncode == 0
    before = pids(run)
    folder = ClusterFolder(tmp_path / "c")
    plan = folder.existing()
    plan.restarting = [port + 1]
    folder.save(plan)
    os.kill(before[1], signal.SIGKILL)
    left = f"1 node left to restart: `rillway cluster restart --dir {folder.path}` goes on"
    assert left in run("status").stdout
    restarted = run("restart")
    assert restarted.returncode == 0
    alone = f"127.0.0.1:{port + 1} has no replica: its slots are not served meanwhile"
    assert alone in restarted.stdout
    assert f"127.0.0.1:{port + 1} is at maxmemory: no trial write" in restarted.stdout
    after = pids(run)
    assert after[0] == before[0] and after[1] != before[1]


@pytest.mark.thorough
def test_nodes_at_maxmemory_restart_without_a_trial_write(run: Run) -> None:
    port = free_ports(2)
    words = ("start", "--nodes", "1", "--replicas", "1", "--port", str(port))
    assert run(*words, "--", "--maxmemory", "1").returncode == 0
    restarted = run("restart")
    assert restarted.returncode == 0, restarted.stderr
    primary = f"127.0.0.1:{port}"  # its replica leads after the first turn
    assert f"{primary} is at maxmemory: no trial write, offsets are compared" in restarted.stdout


def pids(run: Run) -> list[int]:
    return [node["pid"] for node in json.loads(run("status", "--json").stdout)["nodes"]]


def test_an_upgrade_to_what_does_not_start_says_how_to_go_back(run: Run, tmp_path: Path) -> None:
    port = free_ports(1)
    assert run("start", "--nodes", "1", "--port", str(port)).returncode == 0
    refused = run("upgrade", "--to", str(tmp_path / "no"))
    assert refused.returncode == 1 and "cannot be run: No such file" in refused.stderr
    refused = run("upgrade", "--to", "true")
    assert refused.returncode == 1 and "says nothing of Rillway" in refused.stderr
    broken = tmp_path / "rillway-broken"
    broken.write_text("#!/bin/sh\n[ $1 = --version ] && echo rillway 9 && exit\necho no; exit 1\n")
    broken.chmod(0o755)
    failed = run("upgrade", "--to", os.path.relpath(broken))
    assert ClusterFolder(tmp_path / "c").existing().program == [str(broken)]
    assert failed.returncode == 1 and f"node on port {port} did not start" in failed.stderr
    back = f"upgrade --to '{sys.executable} -m rillway'"
    assert f"Left to restart: {port}. " in failed.stderr and back in failed.stderr
    assert run("upgrade", "--to", f"{sys.executable} -m rillway").returncode == 0
    with redis.Redis(port=port) as client:
        assert client.ping()
