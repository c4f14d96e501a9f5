"""`rillway cluster` with redis-py's cluster client, under load, and with a redis-server in it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import redis

from rillway.cluster.member import Member
from rillway.cluster.resharding import Resharding
from tests.support.programs.cluster import wait_until
from tests.support.programs.ports import free_port, free_ports
from tests.support.programs.servers import SERVED, start_redis

pytestmark = pytest.mark.compat

STREAMS = 500
FOREIGN_SLOTS = 60  # redis-cli moves them one by one


class Command:
    """`rillway cluster` on one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_ports(6)

    def begin(self, job: str, *words: str) -> subprocess.Popen[str]:
        argv = [sys.executable, "-m", "rillway", "cluster", job, "--dir", str(self.folder), *words]
        return subprocess.Popen(
            argv, cwd=SERVED, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def run(self, job: str, *words: str, status: int = 0) -> str:
        process = self.begin(job, *words)
        printed, _ = process.communicate(timeout=240)
        assert process.returncode == status, printed
        return printed

    def status(self, status: int = 0) -> Any:
        return json.loads(self.run("status", "--json", status=status))

    def has_slots(self, place: int) -> bool:
        """Whether a node knows slots of its own."""
        with redis.Redis(port=self.port + place) as client:
            nodes: Any = client.execute_command("CLUSTER NODES")
        return any("myself" in node["flags"] and node["slots"] for node in nodes.values())

    def client(self) -> Any:
        return redis.RedisCluster(host="127.0.0.1", port=self.port, decode_responses=True)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    """Three primaries."""
    made = Command(tmp_path_factory.mktemp("cluster") / "c")
    made.run("start", "--nodes", "3", "--port", str(made.port))
    yield made
    made.run("stop")


class Load(threading.Thread):
    """Adds to streams until it is told to stop. `added`: confirmed entries by stream."""

    def __init__(self, client: Any, name: str = "orders") -> None:
        super().__init__()
        self.client, self.stream_name = client, name
        self.is_over = threading.Event()
        self.added: Counter[str] = Counter()
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            while not self.is_over.is_set():
                stream = f"{self.stream_name}:{self.added.total() % STREAMS}"
                # redis-py's error for an ASK that names a node of which it has not heard yet.
                with suppress(AttributeError):
                    self.client.xadd(stream, {"n": self.added.total()})
                    self.added[stream] += 1
        except Exception as error:
            self.error = error

    def check(self) -> None:
        """All that was confirmed is there, once."""
        self.is_over.set()
        self.join()
        assert self.error is None
        assert {stream: self.client.xlen(stream) for stream in self.added} == self.added


def test_redis_cli_and_status_agree(cluster: Command) -> None:
    document = cluster.status()
    assert document["state"] == "ok"
    assert [node["slots"] for node in document["nodes"]] == [
        [[0, 5460]],
        [[5461, 10922]],
        [[10923, 16383]],
    ]
    argv = ["redis-cli", "--cluster", "check", f"127.0.0.1:{cluster.port}"]
    printed = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=240).stdout
    assert "[OK] All 16384 slots covered." in printed


@pytest.mark.thorough
def test_a_node_that_was_killed_comes_back_with_its_data(cluster: Command) -> None:
    with cluster.client() as client:
        for number in range(100):
            client.set(f"key:{number}", number)
        os.kill(cluster.status()["nodes"][1]["pid"], signal.SIGKILL)
        assert cluster.status(status=1)["nodes"][1]["pid"] is None
        cluster.run("start")
        assert [client.get(f"key:{number}") for number in range(100)] == [
            str(number) for number in range(100)
        ]


@pytest.mark.thorough
def test_a_node_is_added_under_load_although_the_command_is_cut(cluster: Command) -> None:
    with cluster.client() as client:
        load = Load(client)
        load.start()
        try:
            adding = cluster.begin("add")
            assert adding.stdout is not None
            for line in adding.stdout:
                if line.startswith("moving slots"):
                    break
            stop_when(adding, lambda: cluster.has_slots(3))
            adding.send_signal(signal.SIGINT)
            adding.send_signal(signal.SIGCONT)
            again = f"`rillway cluster add --dir {cluster.folder}` goes on"
            assert again in adding.communicate(timeout=240)[0]
            assert adding.returncode == 130
            assert "a node is being added" in cluster.run("status", status=1)
            cluster.run("add")
        finally:
            load.check()
    document = cluster.status()
    assert [slot_count(node) for node in document["nodes"]] == [4096] * 4
    assert document["problems"] == []


@pytest.mark.thorough
def test_a_node_is_removed_under_load_although_the_command_is_cut(cluster: Command) -> None:
    leaving = str(cluster.port + 1)
    with cluster.client() as client:
        load = Load(client, "returns")
        load.start()
        try:
            removing = cluster.begin("remove", leaving)
            assert removing.stdout is not None
            for line in removing.stdout:
                if line.startswith("moving slots"):
                    break
            removing.send_signal(signal.SIGINT)
            printed = removing.communicate(timeout=240)[0]
            again = f"`rillway cluster remove {leaving} --dir {cluster.folder}` goes on"
            assert again in printed
            assert "a node is being removed" in cluster.run("status", status=1)
            assert "First: rillway cluster remove" in cluster.run("add", status=1)
            cluster.run("remove", leaving)
        finally:
            load.check()
        assert all(client.get(f"key:{number}") == str(number) for number in range(100))
    document = cluster.status()
    assert [node["port"] - cluster.port for node in document["nodes"]] == [0, 2, 3]
    assert [slot_count(node) // 10 for node in document["nodes"]] == [546] * 3
    assert document["problems"] == []


def stop_when(process: subprocess.Popen[str], holds: Callable[[], bool]) -> None:
    """Let a process run for a few milliseconds at a time, until it holds."""
    process.send_signal(signal.SIGSTOP)
    while not holds():
        process.send_signal(signal.SIGCONT)
        time.sleep(0.005)
        process.send_signal(signal.SIGSTOP)


@pytest.mark.thorough
def test_a_redis_server_joins_by_redis_cli_and_gives_slots_to_the_next_node(
    cluster: Command, tmp_path: Path
) -> None:
    directives = ("--cluster-enabled", "yes", "--cluster-port", str(free_port()))
    server = start_redis(tmp_path, *directives)
    redis_server = Member(server.port)
    try:
        own = f"127.0.0.1:{cluster.port}"
        redis_cli("add-node", redis_server.address, own)
        wait_until_sound(cluster)
        wait_until(redis_server.is_ok)  # it does not serve at once
        redis_cli(
            *("reshard", own, "--cluster-from", "all", "--cluster-to", redis_server.id),
            *("--cluster-slots", str(FOREIGN_SLOTS), "--cluster-yes"),
        )
        wait_until_sound(cluster)
        foreign = cluster.status()["nodes"][-1]
        assert (foreign["port"], foreign["started_here"]) == (server.port, False)
        assert slot_count(foreign) == FOREIGN_SLOTS

        ours = [Member(node["port"]) for node in cluster.status()["nodes"][:-1]]
        Resharding(redis_server, [*ours, redis_server]).run()
        wait_until_sound(cluster)
        cluster.run("add")
        document = cluster.status()
        assert {slot_count(node) // 100 for node in document["nodes"]} == {32}
        with cluster.client() as client:
            assert all(client.get(f"key:{number}") == str(number) for number in range(100))
            assert all(client.xlen(f"orders:{number}") for number in range(100))
    finally:
        server.stop()
    assert "was not started here" in cluster.run("status", status=1)


def slot_count(node: Any) -> int:
    return sum(last - first + 1 for first, last in node["slots"])


def redis_cli(action: str, *words: str) -> None:
    argv = ["redis-cli", "--cluster", action, *words]
    run = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr


def wait_until_sound(cluster: Command) -> None:
    """Gossip takes a moment."""
    deadline = time.monotonic() + 60
    while True:
        process = cluster.begin("status")
        printed, _ = process.communicate(timeout=240)
        if process.returncode == 0:
            return
        assert time.monotonic() < deadline, printed
