"""Disks with data on them, and a server that starts on one: what all tests of damage need.

The data has what can be damaged: streams over several nodes with deleted entries, groups with
pending, released and deleted entries, producers' messages, strings of every encoding, times to
live, two databases.
"""

from __future__ import annotations

from typing import Any

from server.inprocess.memory_files import MemoryFiles
from server.inprocess.server import InProcessServer
from storage.digest import dataset_digest
from tests.commands.streams.talk import decode
from tests.fuzz.command_rules import check_database

NOW_MS = 1_700_000_000_000
LATER_MS = NOW_MS + 50_000
SNAPSHOT = "dump.rdb"
DIRECTORY = "appendonlydir"
MANIFEST = f"{DIRECTORY}/appendonly.aof.manifest"
LAST_INCREMENT = f"{DIRECTORY}/appendonly.aof.2.incr.aof"

STREAMS = (
    *(f"XADD orders {i}-1 item lamp price {i * 7} note {'x' * (i % 40)}" for i in range(1, 30)),
    "XADD orders 40-1 other shape",
    "XDEL orders 3-1 17-1",
    "XGROUP CREATE orders billing 0 ENTRIESREAD 0",
    "XGROUP CREATE orders shipping 9-1",
    "XREADGROUP GROUP billing alice COUNT 8 STREAMS orders >",
    "XREADGROUP GROUP billing bob COUNT 4 STREAMS orders >",
    "XACK orders billing 2-1 5-1",
    "XDEL orders 6-1",
    "XNACK orders billing FAIL IDS 2 7-1 8-1",
    "XREADGROUP GROUP shipping carol COUNT 2 NOACK STREAMS orders >",
    "XADD sent IDMP web 17 * a b",
    "XADD sent IDMPAUTO web * a c",
    "XADD empty 1-1 a b",
    "XTRIM empty MAXLEN 0",
    "PEXPIRE orders 100000000",
)
STRINGS = (
    "SET number 12345",
    "SET text " + "lamp" * 60,
    "SET short abc PX 90000000",
)


def server(files: MemoryFiles | None = None, **directives: Any) -> InProcessServer:
    """A server on a disk, later. Raises LoadFailed if it cannot load what is there."""
    return InProcessServer.on_files(
        files or MemoryFiles(),
        NOW_MS if files is None else LATER_MS,
        enable_debug_command="yes",
        stream_node_max_entries="10",
        **directives,
    )


def fill(started: InProcessServer, *requests: str) -> None:
    """Run requests, none of which fails."""
    client = started.connect()
    for request in requests:
        started.now_ms += 1
        reply = decode(client.execute(*request.split()))
        assert not isinstance(reply, Exception), (request, reply)
    client.disconnect()


def snapshot_file(**directives: Any) -> bytes:
    """An RDB file."""
    started = server(**directives)
    fill(started, *STREAMS, *STRINGS, "SELECT 1", *STREAMS[:5], "SAVE")
    return started.files.snapshot()[SNAPSHOT]


def append_only_files(**directives: Any) -> dict[str, bytes]:
    """A manifest, a base, and an increment in which there is as much again."""
    started = server(appendonly="yes", appendfsync="always", **directives)
    fill(started, *STREAMS, *STRINGS, "BGREWRITEAOF")
    started.advance(100)
    fill(started, "DEL orders sent empty", *STREAMS, "SELECT 1", *STREAMS[:5])
    files = started.files.snapshot()
    assert LAST_INCREMENT in files, sorted(files)
    return files


def disk(files: dict[str, bytes]) -> MemoryFiles:
    """A disk with these files."""
    made = MemoryFiles()
    for path, data in files.items():
        made.put(path, data)
    return made


def digest(started: InProcessServer) -> bytes:
    return dataset_digest(started.instance.databases, started.now_ms)


def check(started: InProcessServer) -> None:
    """All that was loaded is whole, can be looked at, and can be saved. Raises Broken."""
    for db in started.instance.databases:
        check_database(db)
    client = started.connect()
    for db in started.instance.databases:
        client.execute("SELECT", db.index)
        for key in list(db.values):
            look_at(client, key)
    assert not decode(client.execute("DEBUG", "RELOAD")).startswith(b"-")


def look_at(client: Any, key: bytes) -> None:
    """Every command that shows a key; none of them may fail for what is in it."""
    kind = decode(client.execute("TYPE", key))
    if kind != b"stream":
        decode(client.execute("GET", key))
        return
    for words in (("XINFO", "STREAM", key, "FULL", "COUNT", "0"), ("XRANGE", key, "-", "+"),
                  ("XREVRANGE", key, "+", "-"), ("DUMP", key)):  # fmt: skip
        reply = decode(client.execute(*words))
        assert not isinstance(reply, Exception), (words, reply)
    for group in decode(client.execute("XINFO", "GROUPS", key)):
        reply = decode(client.execute("XPENDING", key, group[1], "-", "+", "1000"))
        assert not isinstance(reply, Exception), reply
