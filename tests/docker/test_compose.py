"""The set of servers in docker/compose.yaml, started from the files that it gives them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from redis.exceptions import RedisError

from rillway.cluster.member import parse_nodes
from server.config_file import load_configuration
from tests.failover.cluster import direct_client, wait_for
from tests.support.programs import processes
from tests.support.programs.ports import free_port, free_ports
from tests.support.programs.servers import ROOT

TEXT = (ROOT / "docker" / "compose.yaml").read_text()
COMPOSE = yaml.safe_load(TEXT)
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

    The addresses of the containers, and the Sentinels' patience, are all that is replaced.
    """
    ports, sentinel_ports = [free_port() for _ in range(3)], [free_port() for _ in range(3)]
    running = []

    def start(name: str, port: int, text: str, *argv: str) -> None:
        place = folder / name
        place.mkdir()
        text = text.replace(f"{PRIMARY} 6379", f"127.0.0.1 {ports[0]}").replace("/data", str(place))
        text = re.sub(r"^port .*\n", "", text, flags=re.M)
        text = text.replace(f"milliseconds {NAME} 5000", f"milliseconds {NAME} 1000")
        # Half of the time after which Sentinels that did not elect one of them try again.
        text = text.replace(f"timeout {NAME} 30000", f"timeout {NAME} 5000")
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


# -- the profile `all` ----------------------------------------------------------------------------


def test_all_in_one_has_the_programs_and_each_command_is_understood() -> None:
    found = {
        name for name, each in COMPOSE["services"].items() if "all" in each.get("profiles", ())
    }
    assert found == {"console", "demo", "prometheus", "grafana"}
    for name in ("console", "demo"):
        service = COMPOSE["services"][name]
        program, job, *words = service["command"]
        assert (program, job, service["read_only"]) == ("rillway", name, True)
        options = import_module(f"rillway.{name}.arguments").parse_options(words)
        assert "redis://rillway:6379" in str(options)


# -- the profile `cluster` ------------------------------------------------------------------------


def test_each_node_of_the_cluster_has_an_address_and_a_volume_of_its_own() -> None:
    nodes = cluster_nodes()
    addresses = [node["networks"]["cluster"]["ipv4_address"] for node in nodes.values()]
    assert addresses == [f"172.31.98.{number}" for number in range(11, 17)]
    assert [node["volumes"] for node in nodes.values()] == [[f"{name}:/data"] for name in nodes]
    assert set(nodes) <= set(COMPOSE["volumes"])
    assert all(node["profiles"] == ["cluster"] for node in nodes.values())
    create = COMPOSE["services"]["cluster-create"]
    assert all(f" {address}:6379" in create["entrypoint"][-1] for address in addresses)


@pytest.mark.integration
def test_the_nodes_become_a_cluster_once(tmp_path: Path) -> None:
    first = free_ports(6)
    script = COMPOSE["services"]["cluster-create"]["entrypoint"][-1]
    for number in range(6):
        script = script.replace(f"172.31.98.{11 + number}:6379", f"127.0.0.1:{first + number}")
    script = script.replace("-h 172.31.98.11 -p 6379", f"-p {first}")
    assert "172.31" not in script
    running = []
    try:
        for number, node in enumerate(cluster_nodes().values()):
            place = tmp_path / str(number)
            place.mkdir()
            argv = [sys.executable, "-m", "rillway", "serve"]
            argv += ["--port", str(first + number), "--dir", str(place)]
            environment = {**os.environ, **node["environment"]}
            log = place / "log"
            running.append(processes.start(argv, folder=ROOT, output=log, environment=environment))
        ports = range(first, first + 6)
        wait_for(lambda: all(map(answers, ports)), "the nodes do not answer")
        for _ in range(2):
            subprocess.run(["sh", "-c", script], check=True, timeout=60)
            wait_for(lambda: all(map(serves, ports)), "the nodes do not agree")
        wait_for(lambda: roles(first) == [True] * 3 + [False] * 3, "the replicas are not known")
    finally:
        for process in running:
            process.kill()
            process.wait()


def cluster_nodes() -> dict[str, Any]:
    """The services that are nodes."""
    services = COMPOSE["services"].items()
    return {name: found for name, found in services if re.fullmatch(r"cluster-\d", name)}


def serves(port: int) -> bool:
    with direct_client(port) as client:
        info = client.execute_command("CLUSTER", "INFO")
        return b"cluster_state:ok" in info and b"cluster_known_nodes:6" in info


def roles(port: int) -> list[bool]:
    """Whether each node is a primary, by their ports."""
    with direct_client(port) as client:
        nodes = parse_nodes(client.execute_command("CLUSTER", "NODES").decode())
    return [node.is_primary for node in sorted(nodes, key=lambda node: node.port)]
