"""snapshot_restore.py: a snapshot's keys are restored into the databases."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessServer
from server.persistence.loading.snapshot_restore import SnapshotRestore, UnfitContent, squeeze_nodes
from storage.snapshot.format import SnapshotOptions
from storage.snapshot.reader import SnapshotReader
from storage.snapshot.values.table import value_pieces
from storage.stream import Stream

NOW_MS = 1_700_000_000_000
A, B = b"\x00\x01a\x011", b"\x00\x01b\x012"  # strings at the keys a and b
PAST = b"\xfc" + (NOW_MS - 1).to_bytes(8, "little")
PRESENT = b"\xfc" + NOW_MS.to_bytes(8, "little")


def fill(
    server: InProcessServer, records: bytes, *, keeps_expired: bool = False, replaces: bool = False
) -> SnapshotRestore:
    reader = SnapshotReader(b"REDIS0010" + records + b"\xff" + bytes(8), now_ms=NOW_MS)
    restore = SnapshotRestore(
        server.instance, reader, now_ms=NOW_MS, keeps_expired=keeps_expired, replaces=replaces
    )
    positions = list(restore.steps())
    assert positions == sorted(positions)
    return restore


def test_keys_go_to_their_database_with_their_deadlines() -> None:
    server = InProcessServer(NOW_MS)
    restore = fill(server, b"\xfe\x00" + PRESENT + A + b"\xfe\x02" + A + B)
    assert restore.loaded == 3
    assert server.instance.databases[0].deadlines() == {b"a": NOW_MS}
    assert sorted(server.instance.databases[2].keys()) == [b"a", b"b"]


def test_keys_that_have_expired_are_left_out_or_kept() -> None:
    server = InProcessServer(NOW_MS)
    restore = fill(server, PAST + A + B)
    assert (restore.loaded, restore.expired) == (1, 1)
    restore = fill(InProcessServer(NOW_MS), PAST + A + B, keeps_expired=True)
    assert (restore.loaded, restore.expired) == (2, 0)


@pytest.mark.parametrize(("records", "offset"), [(A + B + A, 19), (PRESENT + A + A, 23)])
def test_a_key_that_comes_twice_is_refused_unless_it_replaces(records: bytes, offset: int) -> None:
    with pytest.raises(UnfitContent, match="key b'a' of database 0 comes twice") as refused:
        fill(InProcessServer(NOW_MS), records)
    assert refused.value.offset == offset
    server = InProcessServer(NOW_MS)
    fill(server, records, replaces=True)
    assert server.instance.databases[0].deadlines() == {}


def test_a_database_that_there_is_not_is_refused() -> None:
    with pytest.raises(UnfitContent, match="--databases 17 or more"):
        fill(InProcessServer(NOW_MS), b"\xfe\x10" + A)


def test_nodes_of_streams_are_squeezed_incrementally() -> None:
    stream = Stream()
    for number in range(1, 1000):
        stream.append(number << 64, [b"f", b"a value that repeats itself"], 10, 4096)
    body = b"".join(value_pieces(stream, SnapshotOptions(compress=False), NOW_MS))
    server = InProcessServer(NOW_MS)
    nodes = fill(server, b"\x15\x01s" + body).nodes
    loaded = server.instance.databases[0].values[b"s"]
    assert isinstance(loaded, Stream)
    size = loaded.memory_bytes()
    loaded.delete(5 << 64)  # its node is opened
    server.instance.background_work.tidy(squeeze_nodes(nodes))
    server.instance.background_work.finish()
    assert server.instance.background_work.failed == 0
    assert server.instance.background_work.steps > 1
    assert nodes == []
    assert loaded.memory_bytes() < 0.8 * size
    assert loaded.length == 998
