"""RDB files as they are written."""

from __future__ import annotations

import pytest

from storage.groups.ack_journal import AckJournal
from storage.groups.group import Group
from storage.idempotence import Idempotence
from storage.keyspace.database import Database
from storage.redis_format.primitives import crc64, encode_checksum
from storage.snapshot.format import SnapshotOptions
from storage.snapshot.values.table import plain_version, value_type, value_version
from storage.snapshot.writer import CHUNK_BYTES, standard_aux, write_snapshot
from storage.stream import Stream
from storage.types.value import StringValue

NOW_MS = 1_700_000_000_000
OPTIONS = SnapshotOptions()


def databases(count: int = 4) -> list[Database]:
    return [Database(index) for index in range(count)]


def written(
    dbs: list[Database],
    options: SnapshotOptions = OPTIONS,
    aux: dict[bytes, bytes] | None = None,
) -> bytes:
    chunks: list[bytes] = []
    write_snapshot(dbs, chunks.append, options, now_ms=NOW_MS, aux=aux or {})
    return b"".join(chunks)


@pytest.mark.parametrize(
    ("options", "opcode"),
    [
        (OPTIONS, b""),
        (SnapshotOptions(keeps_idle_times=True), b"\xf8\x41\x00"),
        (SnapshotOptions(keeps_frequencies=True), b"\xf9\x07"),
    ],
)
def test_a_key_has_its_idle_seconds_or_its_frequency(
    options: SnapshotOptions, opcode: bytes
) -> None:
    dbs = databases()
    dbs[0].set(b"key", StringValue(b"text", NOW_MS - 256_000))
    dbs[0].values[b"key"].frequency = 7
    before = b"\xfe\x00\xfb\x01\x00"
    assert before + opcode + b"\x00\x03key\x04text\xff" in written(dbs, options)


def stream_with(*, released: bool = False, remembered: bool = False) -> Stream:
    stream = Stream()
    stream.append(1 << 64, [b"f", b"v"], 100, 4096)
    if released:
        group = stream.groups[b"g"] = Group(b"g", 1 << 64)
        group.add(1 << 64, None, 0, 1)
    if remembered:
        stream.idempotence = Idempotence()
        stream.idempotence.record(b"pid", b"iid", NOW_MS << 64)
    return stream


def test_an_empty_snapshot_is_header_end_and_checksum() -> None:
    content = b"REDIS0011\xff"
    assert written(databases()) == content + encode_checksum(crc64(content))


def test_a_snapshot_has_databases_deadlines_keys_and_values() -> None:
    dbs = databases()
    dbs[0].set(b"a", StringValue(b"1"))
    dbs[3].set(b"b", StringValue(b"text"))
    dbs[3].set(b"500", StringValue(b""))
    dbs[3].expire_at(b"b", NOW_MS)
    content = (
        b"REDIS0011"
        b"\xfa\x09redis-ver\x057.4.0"
        b"\xfa\x05other\xc0\x05"
        b"\xfe\x00\xfb\x01\x00"
        b"\x00\x01a\xc0\x01"
        b"\xfe\x03\xfb\x02\x01"
        b"\xfc" + NOW_MS.to_bytes(8, "little") + b"\x00\x01b\x04text"
        b"\x00\xc1\xf4\x01\x00"
        b"\xff"
    )
    found = written(dbs, aux={b"redis-ver": b"7.4.0", b"other": b"5"})
    assert found == content + encode_checksum(crc64(content))


def test_without_a_checksum_there_are_zeros() -> None:
    assert written(databases(), SnapshotOptions(checksum=False)) == b"REDIS0011\xff" + bytes(8)


@pytest.mark.parametrize(
    ("stream", "kind", "version"),
    [
        (stream_with(), 21, 11),
        (stream_with(remembered=True), 26, 13),
        (stream_with(released=True), 27, 14),
        (stream_with(released=True, remembered=True), 27, 14),
    ],
)
def test_type_and_version_are_the_oldest_that_have_what_a_stream_needs(
    stream: Stream, kind: int, version: int
) -> None:
    assert value_type(stream, OPTIONS) == kind
    assert value_version(stream, OPTIONS) == version
    dbs = databases()
    dbs[1].set(b"plain", stream_with())
    dbs[2].set(b"s", stream)
    dbs[2].set(b"text", StringValue(b"text"))
    assert written(dbs)[:9] == b"REDIS%04d" % version


@pytest.mark.parametrize(("stream_type", "version"), [(15, 9), (19, 10), (21, 11)])
def test_type_and_version_can_be_fixed(stream_type: int, version: int) -> None:
    options = SnapshotOptions(stream_type=stream_type)
    dbs = databases()
    dbs[0].set(b"s", stream_with(released=True, remembered=True))
    assert written(dbs, options)[:9] == b"REDIS%04d" % version
    assert written(databases(), options)[:9] == b"REDIS%04d" % version
    assert value_type(stream_with(), options) == stream_type
    assert plain_version(options) == version


def test_long_strings_are_compressed_if_they_are_to_be() -> None:
    dbs = databases()
    dbs[0].set(b"k" * 100, StringValue(b"v" * 1000))
    assert len(written(dbs)) < 100
    assert b"v" * 1000 in written(dbs, SnapshotOptions(compress=False))


def test_a_snapshot_comes_in_large_chunks() -> None:
    dbs = databases()
    for number in range(20_000):
        dbs[0].set(b"key:%d" % number, StringValue(b"value:%d" % number))
    chunks: list[bytes] = []
    count = write_snapshot(dbs, chunks.append, OPTIONS, now_ms=NOW_MS, aux={})
    assert count == 20_000
    *whole, _, checksum = chunks
    assert len(whole) > 3
    assert all(CHUNK_BYTES <= len(chunk) < 2 * CHUNK_BYTES for chunk in whole)
    assert checksum == encode_checksum(crc64(b"".join(chunks[:-1])))


def test_progress_is_told_now_and_then() -> None:
    dbs = databases()
    for db in dbs:
        for number in range(1000):
            db.set(b"%d" % number, StringValue(b""))
    told: list[int] = []
    write_snapshot(
        dbs, lambda _: None, OPTIONS, now_ms=NOW_MS, aux={}, progress=told.append
    )  # fmt: skip
    assert told == [1024, 2048, 3072]


def test_what_the_writing_raises_passes_through() -> None:
    def fail(chunk: bytes) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_snapshot(databases(), fail, OPTIONS, now_ms=NOW_MS, aux={})


def test_the_usual_facts_are_those_of_redis() -> None:
    assert standard_aux(b"7.4.0", NOW_MS + 999, 123, {}, aof_base=True) == {
        b"redis-ver": b"7.4.0",
        b"redis-bits": b"64",
        b"ctime": b"1700000000",
        b"used-mem": b"123",
        b"aof-base": b"1",
    }


def test_the_journal_of_a_stream_stands_in_front_of_it() -> None:
    dbs = databases()
    stream = stream_with()
    dbs[0].set(b"s", stream)
    plain = written(dbs)
    stream.ack_journal = AckJournal(b"j", 5)
    noted = b"\xfa\x13rillway-ack-journal\x035 j"
    before, behind = plain[:-8].split(b"\x15\x01s")
    content = before + noted + b"\x15\x01s" + behind
    assert written(dbs) == content + encode_checksum(crc64(content))
