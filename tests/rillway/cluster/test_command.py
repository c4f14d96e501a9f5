"""`rillway cluster` in processes, as a user runs it: what goes wrong is said in a sentence.

Clusters under load, and with redis-server: tests/compat/test_cluster_command.py.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import redis

from rillway.cluster.folder import ClusterFolder, Plan
from rillway.cluster.launch import Launch, Wish
from rillway.cluster.member import ClusterFailed
from rillway.cluster.process import NodeProcess
from tests.rillway.cluster.conftest import Run
from tests.support.programs.ports import free_ports
from tests.support.programs.servers import SERVED
from tests.support.waiting import until

pytestmark = pytest.mark.integration


def test_a_cluster_of_one_starts_stops_and_has_its_data_again(run: Run, tmp_path: Path) -> None:
    port = free_ports(1)
    started = run("start", "--nodes", "1", "--port", str(port))
    assert started.returncode == 0, started.stderr
    assert "note:" not in started.stdout  # without replicas nobody expects a failover
    assert f"127.0.0.1:{port}  primary  pid " in started.stdout
    assert started.stdout.endswith("cluster: ok, 16,384 of 16,384 slots served, 1 primary\n")
    with redis.RedisCluster(host="127.0.0.1", port=port) as client:
        client.xadd("s", {"f": "v"})

    again = run("start")
    assert (again.returncode, again.stdout.splitlines()[0]) == (0, "all nodes run already")
    stopped = run("stop")
    assert (stopped.returncode, stopped.stdout[-7:]) == (0, " ended\n")
    assert run("stop").stdout == "no node runs\n"
    assert run("status").returncode == 1

    assert run("start", "--", "--appendfsync", "always").returncode == 0
    with redis.RedisCluster(host="127.0.0.1", port=port) as client:
        assert client.xlen("s") == 1
        assert client.config_get("appendfsync")["appendfsync"] == "always"
    refused = run("start", "--", "--appendfsync", "no")
    assert "other options than before need all nodes to start again" in refused.stderr
    refused = run("remove", str(port))
    assert f"127.0.0.1:{port} is the only primary" in refused.stderr
    assert "the cluster has no node 1:" in run("remove", "1").stderr
    for words in (["--nodes", "2"], ["--replicas", "1"], ["--port", "1"]):
        refused = run("start", *words)
        assert refused.returncode == 1
        assert f"was made with {words[0]}" in refused.stderr


def test_the_command_that_made_a_cluster_starts_it_when_its_first_node_is_gone(
    tmp_path: Path,
) -> None:
    folder = ClusterFolder(tmp_path)
    folder.save(Plan(3, 0, [7003], [], first_port=7000))
    launch = Launch(folder, print)
    launch.check(Wish(3, None, 7000, []))
    with pytest.raises(ClusterFailed, match="was made with --port 7000"):
        launch.check(Wish(3, None, 7003, []))


def test_a_node_that_was_killed_is_shown_and_started_again(run: Run, tmp_path: Path) -> None:
    port = free_ports(3)
    assert run("start", "--nodes", "2", "--port", str(port)).returncode == 0
    pids = {
        node["port"]: node["pid"] for node in json.loads(run("status", "--json").stdout)["nodes"]
    }
    os.kill(pids[port], signal.SIGKILL)

    status = run("status", "--json")
    document = json.loads(status.stdout)
    assert (status.returncode, document["state"], document["slots_served"]) == (1, "fail", 8192)
    assert [node["pid"] for node in document["nodes"]] == [None, pids[port + 1]]
    remedy = f"rillway cluster start --dir {tmp_path / 'c'} brings it back"
    assert document["problems"][0].startswith(f"127.0.0.1:{port} is down: {remedy}; its log: ")
    refused = run("add")
    first = f"First: rillway cluster start --dir {tmp_path / 'c'}\n"
    assert f"the cluster is down: {port}. {first}" in refused.stderr
    assert run("start").stdout.startswith("starting 1 node in ")
    assert run("status").returncode == 0


def test_ports_in_use_are_named_before_anything_is_started(run: Run, tmp_path: Path) -> None:
    port = free_ports(2)
    with socket.create_server(("127.0.0.1", port + 1)):
        refused = run("start", "--nodes", "2", "--port", str(port))
    assert refused.returncode == 1
    assert refused.stderr == (
        f"rillway cluster: the port is in use: {port + 1}. Others are chosen by --port.\n"
    )
    assert not (tmp_path / "c/cluster.json").exists()


def test_a_node_that_does_not_start_is_shown_with_its_log(run: Run) -> None:
    port = free_ports(1)
    words = ("start", "--nodes", "1", "--port", str(port), "--")
    refused = run(*words, "--appendfsync", "sometimes")
    assert refused.returncode == 1
    assert f"rillway cluster: the node on port {port} did not start." in refused.stderr
    assert "'appendfsync': argument(s) must be one of the following" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert run(*words, "--appendfsync", "always").returncode == 0


def test_a_password_is_used_for_all_nodes(run: Run, tmp_path: Path) -> None:
    port = free_ports(3)
    words = ("start", "--nodes", "1", "--replicas", "1", "--port", str(port))
    started = run(*words, "--", "--requirepass", "secret")
    assert started.returncode == 0
    assert "note: there is no failover with fewer than three primaries" in started.stdout
    assert f"replica of 127.0.0.1:{port}" in run("status").stdout
    shown = run("top", "--once", "--every", "0.1s")
    assert shown.returncode == 0, shown.stderr
    assert [line.split()[:2] for line in shown.stdout.splitlines()[2:4]] == [
        [f"127.0.0.1:{port}", "primary"],
        [f"127.0.0.1:{port + 1}", "replica"],
    ]
    document = json.loads(run("top", "--once", "--json", "--every", "0.1s").stdout)
    assert [(node["links"], node["is_synchronised"]) for node in document["nodes"]] == [
        (1, True)
    ] * 2
    assert document["nodes"][0]["requests_per_s"] > 0
    with redis.Redis(port=port) as client, pytest.raises(redis.AuthenticationError):
        client.ping()
    with redis.Redis(port=port, password="secret", decode_responses=True) as client:
        asked = client.config_get("shutdown-on-sigterm")
    assert asked == {"shutdown-on-sigterm": "failover"}
    assert run("stop").returncode == 0
    assert "Asking replica" not in (tmp_path / f"c/{port}/server.log").read_text()


@pytest.mark.parametrize("job", ["status", "stop", "add", "start", "remove 7000"])
def test_without_a_cluster_each_job_says_what_to_do(run: Run, job: str, tmp_path: Path) -> None:
    refused = run(*job.split())
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"rillway cluster: there is no cluster in {tmp_path}")
    assert "--nodes" in refused.stderr
    assert not (tmp_path / "c").exists()


REFUSES_ONCE = """
import pathlib, signal, time

def end(*_):
    signal.signal(signal.SIGTERM, signal.SIG_DFL)

signal.signal(signal.SIGTERM, end)
pathlib.Path("ready").touch()
while True:
    time.sleep(60)
"""


def test_a_node_that_refuses_to_end_is_asked_again(tmp_path: Path) -> None:
    process = NodeProcess(tmp_path / "node", 1)
    process.start([], [sys.executable, "-c", REFUSES_ONCE])
    until((tmp_path / "node/ready").exists, "it does not start")
    assert process.ask_to_end()
    process.wait_for_its_end()
    assert process.pid is None


LOSES_AN_INTERRUPT = """
import signal, sys, time
from rillway.cluster import command

signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored, as by nohup

class Doomed:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

def status(options):
    Doomed()
    time.sleep(60)

command.JOBS["status"] = status
sys.exit(command.main(["status"]))
"""


def test_an_interrupt_in_a_destructor_ends_the_command() -> None:
    argv = [sys.executable, "-c", LOSES_AN_INTERRUPT]
    ended = subprocess.run(argv, cwd=SERVED, capture_output=True, text=True)
    assert ended.returncode == 130, ended.stdout + ended.stderr
    assert ended.stderr.startswith("\nInterrupted. `rillway cluster status")
