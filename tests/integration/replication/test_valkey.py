"""Replication with a Valkey 9.1 on either end, hash fields with a time to live included."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compat.conftest import compared_valkey_or_skip
from tests.integration.replication.test_replication import AT_ONCE, change, fill
from tests.support.programs.servers import (
    COMPARED_VALKEY,
    RunningServer,
    start_redis,
    start_rillway,
)
from tests.support.replicas import client_of, contents, follow, wait_for_link, wait_for_offset

pytestmark = pytest.mark.integration

FAR_MS = 4_000_000_000_000  # a Unix time
FIELDS = (
    "HSET h kept 1 timed 2",
    f"HPEXPIREAT h {FAR_MS} FIELDS 1 timed",
    f"HPEXPIREAT h {FAR_MS + 5} NX FIELDS 1 missing",
)
LATER = (
    "HSET other a 1 b 2 c 3",
    f"HSETEX other PXAT {FAR_MS} FIELDS 2 a 4 d 5",
    f"HGETEX other PXAT {FAR_MS + 1} FIELDS 1 b",
    f"HEXPIRE h {FAR_MS // 2000} FIELDS 1 kept",
    "HPERSIST h FIELDS 1 timed",
    "HGETEX other PERSIST FIELDS 1 d",
    "HEXPIRE other 0 FIELDS 1 c",
    "SET s2 v",
    "SET s2 w IFEQ v",
)


def run(server: RunningServer, requests: tuple[str, ...]) -> None:
    with client_of(server) as client:
        for request in requests:
            client.execute_command(*request.split())


def fields(server: RunningServer) -> list[object]:
    """The hashes, and the times of their fields."""
    with client_of(server) as client:
        found: list[object] = []
        for key in (b"h", b"other", b"restored"):
            content = client.hgetall(key)
            names = sorted(content)
            times = client.execute_command("HPEXPIRETIME", key, "FIELDS", len(names), *names)
            found.append((content, times) if names else None)
        return [*found, client.get("s2")]


def start(kind: str, folder: Path, *directives: str) -> RunningServer:
    folder.mkdir()
    if kind == "valkey":
        return start_redis(
            folder, *directives, program=compared_valkey_or_skip(), line=COMPARED_VALKEY
        )
    return start_rillway(folder, *directives)


@pytest.mark.parametrize("diskless", ["yes", "no"])
@pytest.mark.parametrize(("above", "below"), [("valkey", "rillway"), ("rillway", "valkey")])
def test_a_replica_has_what_its_primary_has(
    tmp_path: Path, above: str, below: str, diskless: str
) -> None:
    words = (*AT_ONCE, "--repl-diskless-sync", diskless)
    primary, replica = start(above, tmp_path / "p", *words), start(below, tmp_path / "r", *words)
    try:
        fill(primary)
        run(primary, FIELDS)
        follow(replica, primary)
        wait_for_link(replica)
        change(primary)
        run(primary, LATER)
        with client_of(primary) as client:
            payload = client.dump("other")
            client.restore("restored", 0, payload)
        wait_for_offset(replica, primary)
        assert fields(replica) == fields(primary)
        told = above == "rillway"  # as a Redis, a Valkey propagates less of groups
        assert contents(replica, told=told) == contents(primary, told=told)
        with client_of(primary) as client:
            assert client.info("stats")["sync_full"] == 1
    finally:
        primary.stop()
        replica.stop()
