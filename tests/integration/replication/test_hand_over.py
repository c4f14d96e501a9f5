"""SHUTDOWN FAILOVER over sockets: the replica that takes over may be a redis-server."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import redis

from tests.integration.replication.test_replication import AT_ONCE
from tests.support.programs import processes
from tests.support.programs.servers import RunningServer, start_of, start_rillway
from tests.support.replicas import client_of, contents, follow, replication, wait_for_offset
from tests.support.waiting import until

pytestmark = pytest.mark.integration


@contextmanager
def running(folder: Path, *kinds: str) -> Iterator[list[RunningServer]]:
    """A Rillway with some data, and replicas that have it."""
    found: list[RunningServer] = []
    try:
        for number, start in enumerate([start_rillway, *map(start_of, kinds)]):
            (folder / str(number)).mkdir()
            found.append(start(folder / str(number), *AT_ONCE))
        primary, *replicas = found
        with client_of(primary) as client:
            client.xadd("s", {"f": "v"}, id="1-1")
            client.xgroup_create("s", "g", id="0")
            client.xreadgroup("g", "alice", {"s": ">"})
        for replica in replicas:
            follow(replica, primary)
            wait_for_offset(replica, primary)
        yield found
    finally:
        for server in found:
            server.process.send_signal(signal.SIGCONT)
            processes.stop(server.process)


def shut_down(server: RunningServer) -> None:
    """SHUTDOWN FAILOVER, until the process has ended."""
    with client_of(server) as client, suppress(redis.ConnectionError):
        client.execute_command("SHUTDOWN", "FAILOVER")
    server.process.wait()


@pytest.mark.parametrize("kind", ["redis", pytest.param("newer", marks=pytest.mark.thorough)])
def test_a_redis_takes_over_from_a_primary_that_ends(kind: str, tmp_path: Path) -> None:
    with running(tmp_path, kind) as (primary, replica):
        expected = contents(primary)
        shut_down(primary)
        assert "A replica has taken over." in primary.log.read_text()
        assert replication(replica)["role"] == "master"
        assert contents(replica) == expected
        with client_of(replica) as client:
            assert client.xadd("s", {"f": "w"}, id="1-2")


@pytest.mark.thorough
def test_a_replica_that_hangs_does_not_take_over_though_it_has_everything(tmp_path: Path) -> None:
    with running(tmp_path, "rillway", "rillway") as (primary, hangs, lives):
        with client_of(primary) as client:
            client.execute_command("WAIT", 2, 0)
        hangs.process.send_signal(signal.SIGSTOP)
        shut_down(primary)
        assert "A replica has taken over." in primary.log.read_text()
        until(lambda: replication(lives)["role"] == "master", "no replica leads")
