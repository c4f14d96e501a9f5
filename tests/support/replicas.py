"""Servers that follow one another: waiting for them, and comparing what they hold."""

from __future__ import annotations

import time
from typing import Any

import redis

from tests.support.servers import RunningServer

WAIT_SECONDS = 15.0
DATABASES = 16
GROUP_FIELDS = (b"name", b"last-delivered-id", b"entries-read", b"pel-count", b"pending")


def client_of(server: RunningServer, db: int = 0) -> Any:
    """A redis-py client that gets bytes."""
    return redis.Redis(port=server.port, db=db, protocol=2, socket_timeout=WAIT_SECONDS)


def follow(replica: RunningServer, primary: RunningServer) -> None:
    """Have one follow the other, and wait until it does."""
    with client_of(replica) as client:
        client.replicaof("127.0.0.1", str(primary.port))
    wait_for_link(replica)


def wait_until(condition: Any, what: str) -> None:
    """Fail with `what` if the condition does not come true."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def replication(server: RunningServer) -> dict[str, Any]:
    """INFO replication; empty while it is loading."""
    with client_of(server) as client:
        return dict(client.info("replication"))


def wait_for_link(replica: RunningServer) -> None:
    """Until its link is up."""
    wait_until(lambda: replication(replica).get("master_link_status") == "up", "the link is not up")


def wait_for_offset(replica: RunningServer, primary: RunningServer) -> None:
    """Until the replica has applied all that the primary has said."""
    offset = replication(primary)["master_repl_offset"]
    wait_until(
        lambda: replication(replica).get("slave_repl_offset", 0) >= offset,
        f"the replica does not come to offset {offset}",
    )


def contents(server: RunningServer, *, entries_read: bool = True) -> dict[tuple[int, bytes], Any]:
    """All keys of all databases: streams with groups and pending entries, other values, TTLs.

    `entries_read`: a Redis 7.0 does not tell its replicas how many entries a group has read.
    """
    found: dict[tuple[int, bytes], Any] = {}
    for db in range(DATABASES):
        with client_of(server, db) as client:
            for key in client.keys("*"):
                kind = client.type(key)
                expires = client.execute_command("PEXPIRETIME", key)
                is_stream = kind == b"stream"
                value = stream(client, key, entries_read) if is_stream else client.dump(key)[:-10]
                found[db, key] = kind, expires, value
    return found


def stream(client: Any, key: bytes, entries_read: bool) -> Any:
    """All that replication carries of a stream: not when a consumer was last seen or active."""
    full = pairs(client.execute_command("XINFO", "STREAM", key, "FULL", "COUNT", 0))
    groups = []
    for group in full[b"groups"]:
        fields = pairs(group)
        consumers = [pairs(consumer) for consumer in fields.pop(b"consumers")]
        held = {c[b"name"]: (c[b"pel-count"], c[b"pending"]) for c in consumers}
        kept = {name: fields[name] for name in GROUP_FIELDS}
        if not entries_read:
            del kept[b"entries-read"]
        groups.append((kept, held, client.execute_command("XPENDING", key, fields[b"name"])))
    facts = {
        name: full[name]
        for name in (b"length", b"last-generated-id", b"max-deleted-entry-id", b"entries-added")
    }
    return facts, groups, client.execute_command("XRANGE", key, "-", "+")


def pairs(flat: Any) -> dict[bytes, Any]:
    """A map as RESP2 has it, or as redis-py has made one of it."""
    if isinstance(flat, dict):
        return flat
    return dict(zip(flat[::2], flat[1::2], strict=True))
