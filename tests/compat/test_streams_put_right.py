"""What Redis 8.2 gets wrong in a stream is right in Rillway, whichever way the stream comes in.

A node without an entry (redis#15808), and groups that have read more than was added (redis#15488).
Redis 8.10 refuses to load either. What Rillway makes of it, it saves so that Redis 8.10 loads it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from storage.snapshot.reader import SnapshotReader
from storage.snapshot.stream_refusals import payload_refusal
from tests.compat.conftest import compared_redis_or_skip
from tests.conftest import running
from tests.support.programs.servers import (
    COMPARED_REDIS,
    RunningServer,
    start_redis,
    start_rillway,
)
from tests.support.waiting import until

pytestmark = pytest.mark.compat

DIRECTIVES = ("--appendonly", "yes", "--appendfsync", "always", "--stream-node-max-entries", "2")
KEYS = ("dead", "half", "read", "back")
STORY = [
    *(f"XADD {key} {number}-0 f v" for key in KEYS for number in (1, 2, 3, 4)),
    "XTRIM dead MINID 3-0",
    *(f"XDEL {key} {number}-0" for key, number in (("dead", 4), ("half", 2))),
    "XTRIM dead MINID 4-0",
    "XTRIM half MINID = 2-0",
    "XGROUP CREATE read g 0",
    "XREADGROUP GROUP g c STREAMS read >",
    "XTRIM read MAXLEN 1",
    "XSETID read 4-0 ENTRIESADDED 1",
    "XGROUP CREATE back g 2-0 ENTRIESREAD 4",
    "XREADGROUP GROUP g c STREAMS back >",
]
WRONG = {"dead": (0, 1), "half": (2, 2), "read": (1, 1, 4, -3), "back": (4, 2, 6, -2)}
RIGHT = {"dead": (0, 0), "half": (2, 1), "read": (1, 1, 1, 0), "back": (4, 2, 4, 0)}


def client_of(server: RunningServer) -> Any:
    return redis.Redis(port=server.port)


def figures(client: Any) -> dict[str, tuple[int, ...]]:
    """The length and the nodes of each stream; entries read and lag of its group."""
    found = {}
    for key in KEYS:
        info = client.xinfo_stream(key)
        groups = [(group["entries-read"], group["lag"]) for group in client.xinfo_groups(key)]
        found[key] = (info["length"], info["radix-tree-keys"], *sum(groups, ()))
    return found


@pytest.fixture
def source(tmp_path: Path) -> Iterator[RunningServer]:
    """A Redis 8.2 with the streams."""
    folder = tmp_path / "source"
    folder.mkdir()
    program = compared_redis_or_skip()
    for server in running(
        lambda: start_redis(folder, *DIRECTIVES, program=program, line=COMPARED_REDIS)
    ):
        client = client_of(server)
        for line in STORY:
            client.execute_command(*line.split())
        assert figures(client) == WRONG
        assert all(payload_refusal(client.dump(key)) for key in KEYS)
        yield server


Way = Callable[[RunningServer, Path], RunningServer]


def by_snapshot(source: RunningServer, folder: Path) -> RunningServer:
    client_of(source).save()
    shutil.copy(source.log.parent / "dump.rdb", folder)
    return start_rillway(folder, "--stream-node-max-entries", "2")


def by_append_only_file(source: RunningServer, folder: Path) -> RunningServer:
    shutil.copytree(source.log.parent / "appendonlydir", folder / "appendonlydir")
    return start_rillway(folder, *DIRECTIVES)


def by_base(source: RunningServer, folder: Path) -> RunningServer:
    client = client_of(source)
    client.bgrewriteaof()
    until(lambda: client.info("persistence")["aof_rewrites"] == 1)
    return by_append_only_file(source, folder)


def by_requests_of_a_rewrite(source: RunningServer, folder: Path) -> RunningServer:
    client_of(source).config_set("aof-use-rdb-preamble", "no")
    return by_base(source, folder)


def by_payload(source: RunningServer, folder: Path) -> RunningServer:
    server = start_rillway(folder)
    for key in KEYS:
        client_of(server).restore(key, 0, client_of(source).dump(key))
    return server


def by_migrate(source: RunningServer, folder: Path) -> RunningServer:
    server = start_rillway(folder)
    words = ("MIGRATE", "127.0.0.1", server.port, "", 0, 5000, "KEYS", *KEYS)
    assert client_of(source).execute_command(*words) == b"OK"
    return server


def by_synchronisation(source: RunningServer, folder: Path) -> RunningServer:
    server = start_rillway(folder, "--stream-node-max-entries", "2")
    client = client_of(server)
    client.replicaof("127.0.0.1", source.port)
    until(lambda: client.info("replication")["master_link_status"] == "up")
    return server


def by_replication(source: RunningServer, folder: Path) -> RunningServer:
    primary = client_of(source)
    primary.flushall()
    server = by_synchronisation(source, folder)
    for line in STORY:
        primary.execute_command(*line.split())
    assert primary.wait(1, 30_000) == 1
    return server


WAYS = [
    by_snapshot,
    by_append_only_file,
    by_base,
    by_requests_of_a_rewrite,
    by_payload,
    by_migrate,
    by_synchronisation,
    by_replication,
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_what_redis_82_gets_wrong_is_right(source: RunningServer, tmp_path: Path, way: Way) -> None:
    folder = tmp_path / "rillway"
    folder.mkdir()
    for server in running(lambda: way(source, folder)):
        client = client_of(server)
        assert figures(client) == RIGHT
        client.replicaof("NO", "ONE")
        assert figures(client) == RIGHT
        client.xadd("read", {"f": "v"}, id="5-0")
        client.xreadgroup("g", "c", {"read": ">"})
        [group] = client.xinfo_groups("read")
        assert (group["entries-read"], group["lag"]) == (2, 0)
        assert [payload_refusal(client.dump(key)) for key in KEYS] == [None] * len(KEYS)
        client.save()
        saved = (folder / "dump.rdb").read_bytes()
        items = list(SnapshotReader(saved, strict=True, now_ms=0).items())
        assert len(items) == len(KEYS)
