"""Servers that follow one another: waiting for them, and comparing what they hold."""

from __future__ import annotations

from typing import Any

import redis

from tests.support.programs.servers import RunningServer
from tests.support.views import view
from tests.support.waiting import until

WAIT_SECONDS = 60.0
DATABASES = 16


def client_of(server: RunningServer, db: int = 0) -> Any:
    """A redis-py client that gets bytes."""
    return redis.Redis(port=server.port, db=db, protocol=2, socket_timeout=WAIT_SECONDS)


def follow(replica: RunningServer, primary: RunningServer) -> None:
    """Have one follow the other, and wait until it does."""
    with client_of(replica) as client:
        client.replicaof("127.0.0.1", str(primary.port))
    wait_for_link(replica)


def replication(server: RunningServer) -> dict[str, Any]:
    """INFO replication; empty while it is loading."""
    with client_of(server) as client:
        return dict(client.info("replication"))


def wait_for_link(replica: RunningServer) -> None:
    """Until its link is up."""
    until(lambda: replication(replica).get("master_link_status") == "up", "the link is not up")


def wait_for_offset(replica: RunningServer, primary: RunningServer) -> None:
    """Until the replica has applied all that the primary has said."""
    offset = replication(primary)["master_repl_offset"]
    until(
        lambda: replication(replica).get("slave_repl_offset", 0) >= offset,
        f"the replica does not come to offset {offset}",
    )


def contents(server: RunningServer, *, told: bool = True) -> dict[tuple[int, bytes], Any]:
    """All keys of all databases; see `view`."""
    found: dict[tuple[int, bytes], Any] = {}
    for db in range(DATABASES):
        with client_of(server, db) as client:
            client.response_callbacks.clear()  # replies as they are
            for key in client.keys("*"):
                found[db, key] = view(client.execute_command, key, told=told)
    return found
