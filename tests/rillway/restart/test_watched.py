"""rillway/restart/watched.py, with a live Sentinel; a whole restart: test_command.py beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from rillway.restart.watched import RestartFailed, State, Watched, _seen_state
from tests.failover.cluster import NAME, Node, wait_for
from tests.support.programs import processes
from tests.support.programs.ports import free_port

FOLLOWS = {
    "runid": "a", "flags": "slave", "master-link-status": "ok", "master-host": b"10.0.0.2",
    "master-port": 6379,
}  # fmt: skip


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    found = Node("rillway", tmp_path / "node", None)
    found.start()
    yield found
    assert found.process is not None
    found.process.kill()
    found.process.wait()


@pytest.fixture
def url(tmp_path: Path, node: Node) -> Iterator[str]:
    """One Sentinel that watches the node."""
    port, file = free_port(), tmp_path / "sentinel.conf"
    monitored = f"sentinel monitor {NAME} 127.0.0.1 {node.port} 1"
    file.write_text(f"port {port}\nbind 127.0.0.1\ndir {tmp_path}\n{monitored}\n")
    sentinel = processes.start(
        ["redis-sentinel", str(file)], folder=tmp_path, output=tmp_path / "log"
    )
    client = redis.Redis(port=port)
    wait_for(lambda: answers(client), "Sentinel does not answer")
    yield f"redis://127.0.0.1:{port}"
    processes.stop(sentinel)


def answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False


@pytest.mark.integration
def test_sentinel_and_the_server_are_asked(url: str, node: Node) -> None:
    place = ("127.0.0.1", node.port)
    watched = Watched(url, NAME, None, None)
    assert watched.primary() == watched.agreed_primary() == place
    assert watched.ask_for_failover().startswith("NOGOODSLAVE")
    with pytest.raises(RestartFailed, match="Sentinel watches nothing by the name orders"):
        Watched(url, "orders", None, None).primary()
    wait_for(node.replication, "the server does not answer")
    with node.client() as client:
        assert watched.state(place) == State(client.info("server")["run_id"], None)
        # It knows no such user, and Sentinel no such replica.
        assert Watched(url, NAME, "anna", "secret").state(place) is None
        watched.turn_into_replica(place, ("127.0.0.1", 1))
        assert client.execute_command("ROLE")[:3] == [b"slave", b"127.0.0.1", 1]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, ("10.0.0.2", 6379)),
        ({"flags": "slave,disconnected"}, None),
        ({"master-link-status": "err"}, None),
    ],
)
def test_what_sentinel_sees_of_a_replica(
    change: dict[str, str], expected: tuple[str, int] | None
) -> None:
    assert _seen_state(FOLLOWS | change) == State("a", expected)
