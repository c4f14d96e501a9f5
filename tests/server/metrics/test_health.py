"""server/metrics/health.py: whether the server is ready."""

from __future__ import annotations

from server.inprocess.server import InProcessServer
from server.metrics.health import unreadiness


def test_a_server_that_serves_is_ready() -> None:
    assert unreadiness(InProcessServer().instance) is None


def test_a_server_is_not_ready_while_it_loads() -> None:
    server = InProcessServer()
    server.instance.set_loading(True)
    assert unreadiness(server.instance) == "the data is being loaded"


def test_a_replica_without_its_primary_is_ready_only_if_it_may_serve_stale_data() -> None:
    server = InProcessServer(replicaof="127.0.0.1 1")
    assert unreadiness(server.instance) is None
    server.connect().execute("CONFIG", "SET", "replica-serve-stale-data", "no")
    assert "link to the primary is down" in str(unreadiness(server.instance))


def test_a_server_that_cannot_write_its_file_is_not_ready() -> None:
    server = InProcessServer(save="3600 1")
    server.instance.persistence.save_succeeded = False
    server.advance(1000)
    assert "a file cannot be written" in str(unreadiness(server.instance))


def test_a_server_that_waits_for_its_replicas_to_end_is_not_ready() -> None:
    server = InProcessServer()
    server.instance.shutdown_at_ms = server.instance.now_ms + 1000
    assert unreadiness(server.instance) == "the server is shutting down"
