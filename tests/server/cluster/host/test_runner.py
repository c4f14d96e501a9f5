"""A server becomes a node of a cluster, or says what hinders it."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import pytest

from commands.config.configuration import Configuration
from commands.core.server_state import UNKNOWN, LinkPhase
from server.cluster.host.runner import (
    ClusterRunner,
    InstanceData,
    NodeFile,
    NodeFileInUse,
    bus_port,
    open_node,
)
from server.inprocess.server import InProcessServer
from server.tls.credentials import Credentials
from tests.support.programs.ports import free_port


@pytest.mark.parametrize(
    ("phase", "down_since_ms", "age_ms"),
    [
        (LinkPhase.CONNECTED, UNKNOWN, 100),
        (LinkPhase.SYNC, UNKNOWN, None),
        (LinkPhase.SYNC, -7_000, 7_000),
        (LinkPhase.CONNECT, -7_000, 7_000),
    ],
)
def test_a_snapshot_that_comes_makes_data_no_younger(
    server: InProcessServer, phase: LinkPhase, down_since_ms: int, age_ms: int | None
) -> None:
    instance = server.instance
    facts = instance.replication.link
    facts.phase, facts.heard_ms = phase, instance.monotonic_ms - 100
    if down_since_ms != UNKNOWN:
        facts.down_since_ms = instance.monotonic_ms + down_since_ms
    assert InstanceData(instance).data_age_ms() == age_ms


def test_the_text_is_kept(tmp_path: Path) -> None:
    file = NodeFile(str(tmp_path / "nodes.conf"))
    assert file.read() == ""
    for is_synced in (False, True):
        file.write(f"{is_synced}\n", is_synced=is_synced)
        assert file.read() == f"{is_synced}\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["nodes.conf", "nodes.conf.lock"]


def test_two_nodes_do_not_share_a_file(tmp_path: Path) -> None:
    path = str(tmp_path / "nodes.conf")
    file = NodeFile(path)
    file.write("mine\n", is_synced=True)
    with pytest.raises(NodeFileInUse, match="each node needs one of its own"):
        NodeFile(path)
    file.close()
    assert NodeFile(path).read() == "mine\n"


def test_a_file_that_cannot_be_written_is_an_error_and_stays(tmp_path: Path) -> None:
    file = NodeFile(str(tmp_path / "nodes.conf"))
    file.write("old\n", is_synced=True)
    (tmp_path / f"nodes.conf.tmp-{os.getpid()}").mkdir()
    with pytest.raises(OSError, match="directory"):
        file.write("new\n", is_synced=True)
    assert file.read() == "old\n"


def opened(path: Path) -> ClusterRunner:
    """The node whose file is at `path`."""
    server = InProcessServer()
    config = server.instance.config
    config.cluster_config_file = str(path)
    config.port = 7001
    return open_node(
        server.dispatcher,
        asyncio.new_event_loop(),
        Credentials(config, lambda level, text: None),
        begin_event=lambda: None,
        wake=lambda: None,
        fatal=pytest.fail,
    )


def test_a_damaged_file_is_named_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "nodes.conf"
    path.write_text("vars currentEpoch x\n")
    with pytest.raises(OSError, match=f"{path} is damaged: line 1: not a number: x. Restore it"):
        opened(path)


def test_a_file_that_another_node_has_is_named(tmp_path: Path) -> None:
    path = tmp_path / "nodes.conf"
    file = NodeFile(str(path))
    with pytest.raises(OSError, match=f"{path} is used by another node"):
        opened(path)
    file.close()


def test_a_file_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "nodes.conf"
    with pytest.raises(OSError, match=f"configuration file {path}: No such file or directory"):
        opened(path)


def test_what_a_node_announces_changes_at_once(tmp_path: Path) -> None:
    runner = opened(tmp_path / "nodes.conf")
    assert ":7001@17001 myself" in runner.core.nodes_text()
    runner._instance.config.cluster_announce_hostname = "one.example"
    runner.apply_config()
    assert ":7001@17001,one.example myself" in runner.core.nodes_text()
    runner.stop()


@pytest.mark.parametrize(
    ("port", "tls_port", "tls_cluster", "cluster_port", "expected"),
    [
        (7001, 8001, False, 0, 17001),
        (0, 8001, False, 0, 18001),
        (7001, 8001, True, 0, 18001),
        (7001, 8001, True, 9000, 9000),
    ],
)
def test_the_bus_is_above_the_port_that_others_are_told(
    port: int, tls_port: int, tls_cluster: bool, cluster_port: int, expected: int
) -> None:
    config = Configuration()
    config.port, config.tls_port, config.cluster_port = port, tls_port, cluster_port
    config.tls_cluster = tls_cluster
    assert bus_port(config) == expected


def test_the_bus_does_not_listen_where_it_is_announced(tmp_path: Path) -> None:
    """A relay may be there, or the port of another machine."""
    runner = opened(tmp_path / "nodes.conf")
    config, loop = runner._instance.config, runner._loop
    with socket.create_server(("127.0.0.1", 0)) as relay:
        config.bind, config.cluster_port = ["127.0.0.1"], free_port()
        config.cluster_announce_bus_port = relay.getsockname()[1]
        runner.start()
        assert f"@{config.cluster_announce_bus_port} myself" in runner.core.nodes_text()
        with socket.create_connection(("127.0.0.1", config.cluster_port)):
            runner.stop()
    loop.close()
