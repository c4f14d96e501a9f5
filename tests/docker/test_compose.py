"""The set of servers in docker/compose.yaml, started from the files that it gives them."""

from __future__ import annotations

import re
import signal
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from redis.exceptions import RedisError

from server.config_file import load_configuration
from tests.failover.cluster import direct_client, wait_for
from tests.support.programs import processes
from tests.support.programs.servers import ROOT, free_port

TEXT = (ROOT / "docker" / "compose.yaml").read_text()
PRIMARY = "172.31.99.11"
NAME = "mymaster"


def anchor(name: str) -> str:
    """The file under this name in the page."""
    found = re.search(
        rf"^x-{name}: .*(?:\n[^\n]+)*?\n +FIRST_CONFIG: \|\n(( +).*\n(?:\2.*\n)*)", TEXT, re.M
    )
    assert found is not None
    return textwrap.dedent(found[1])


def test_the_files_differ_only_in_whom_a_replica_follows(tmp_path: Path) -> None:
    primary, replica = anchor("first-config"), anchor("first-config-of-replicas")
    assert replica.removeprefix(primary) == f"replicaof {PRIMARY} 6379\n"
    assert "rillway-1:\n    <<: *node\n    environment: *first-config\n" in TEXT
    assert f"ipv4_address: {PRIMARY}}}" in TEXT
    file = tmp_path / "rillway.conf"
    file.write_text(replica)
    config, _ = load_configuration([str(file)])
    assert (config.appendonly, config.min_replicas_to_write) == (True, 1)


@pytest.mark.integration
@pytest.mark.thorough
def test_the_set_replaces_a_primary_that_is_killed(tmp_path: Path) -> None:
    with started(tmp_path) as (servers, ports, sentinel_port):
        sentinel = direct_client(sentinel_port)

        def primary_port() -> Any:
            return sentinel.sentinel_get_master_addr_by_name(NAME)[1]

        wait_for(lambda: is_usable(sentinel), "the Sentinels do not find one another")
        with direct_client(ports[0]) as client:
            wait_for(lambda: can_write(client), "no replica follows")
            # The first entry is taken when one replica follows; the other may be the one elected.
            wait_for(lambda: client.wait(2, 1000) == 2, "a replica does not have the entry")
        servers[0].send_signal(signal.SIGKILL)
        wait_for(lambda: primary_port() in ports[1:], "no replica takes over")
        with direct_client(primary_port()) as client:
            wait_for(lambda: can_write(client), "the new primary takes no writes")
            assert client.xlen("s") == 2
        sentinel.close()


@contextmanager
def started(folder: Path) -> Iterator[tuple[list[Any], list[int], int]]:
    """Servers and Sentinels on ports of this machine: processes, the servers' ports, a Sentinel's.

    The addresses of the containers, and 5 seconds of patience, are all that is replaced.
    """
    ports, sentinel_ports = [free_port() for _ in range(3)], [free_port() for _ in range(3)]
    running = []

    def start(name: str, port: int, text: str, *argv: str) -> None:
        place = folder / name
        place.mkdir()
        text = text.replace(f"{PRIMARY} 6379", f"127.0.0.1 {ports[0]}").replace("/data", str(place))
        text = re.sub(r"^port .*\n", "", text, flags=re.M)
        text = text.replace(f"milliseconds {NAME} 5000", f"milliseconds {NAME} 1000")
        (place / "conf").write_text(f"port {port}\nbind 127.0.0.1\ndir {place}\n" + text)
        argv = (*argv, str(place / "conf"))
        running.append(processes.start(argv, folder=ROOT, output=place / "log"))

    rillway = (sys.executable, "-m", "rillway", "serve")
    try:
        for number, port in enumerate(ports):
            name = "first-config-of-replicas" if number else "first-config"
            start(f"rillway-{number + 1}", port, anchor(name), *rillway)
        wait_for(lambda: all(map(answers, ports)), "the servers do not answer")
        for number, port in enumerate(sentinel_ports):
            start(f"sentinel-{number + 1}", port, anchor("sentinel"), "redis-sentinel")
        yield running[:3], ports, sentinel_ports[0]
    finally:
        for process in running:
            process.kill()
            process.wait()


def answers(port: int) -> bool:
    try:
        with direct_client(port) as client:
            return bool(client.ping())
    except RedisError:
        return False


def can_write(client: Any) -> bool:
    """Whether an entry is taken, which it is once a replica follows."""
    try:
        return bool(client.xadd("s", {"f": "v"}))
    except RedisError:
        return False


def is_usable(sentinel: Any) -> bool:
    try:
        known = sentinel.sentinel_master(NAME)
        return (known["num-slaves"], known["num-other-sentinels"]) == (2, 2)
    except RedisError:
        return False
