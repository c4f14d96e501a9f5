"""Files in which bits are flipped: refused, or loaded as something whole; never a crash or a hang.

A snapshot whose checksum is compared is always refused. Without that, and in the requests of an
append-only file, a flip may give other data that are as good as those that were there: then what
was loaded must agree with itself, and be fit for every command that looks at it.
"""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest

from server.persistence.loading.loader import LoadFailed
from storage.redis_format.primitives import crc64, encode_checksum
from tests.commands.streams.talk import decode
from tests.damage.disks import (
    DIRECTORY,
    LAST_INCREMENT,
    SNAPSHOT,
    STREAMS,
    append_only_files,
    check,
    disk,
    fill,
    look_at,
    server,
    snapshot_file,
)
from tests.fuzz.command_rules import check_database
from tests.fuzz.fuzz_commands import time_limit
from tests.support.examples import examples

HANGS_AFTER_SECONDS = 30.0
SEED = 1

SNAPSHOTS = {
    "compressed": snapshot_file(),
    "plain": snapshot_file(rdbcompression="no"),
}
REQUESTS = append_only_files()
OFFSET = re.compile(r"offset (\d+)")


def times(thorough: int) -> int:
    """A third in the quick profile: fewer would not show both outcomes."""
    return max(thorough // 3, examples(thorough))


def flipped(data: bytes, chance: random.Random) -> bytes:
    """One bit is another, or a few; or a byte, or a stretch of bytes."""
    damaged = bytearray(data)
    kind = chance.randrange(4)
    if kind == 3:
        start = chance.randrange(len(data))
        length = min(chance.randrange(1, 9), len(data) - start)
        damaged[start : start + length] = chance.randbytes(length)
    for _ in range((1, 2, 5, 0)[kind]):
        damaged[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(damaged)


def load(files: dict[str, bytes], **directives: str) -> str:
    """What became of the start: "" if it loaded (all of it is checked), else why not."""
    with time_limit(HANGS_AFTER_SECONDS):
        try:
            started = server(disk(files), **directives)
        except LoadFailed as failure:
            return str(failure)
        check(started)
    return ""


@pytest.mark.parametrize("kind", SNAPSHOTS)
def test_a_snapshot_with_a_wrong_checksum_is_always_refused(kind: str) -> None:
    data, chance = SNAPSHOTS[kind], random.Random(SEED)
    assert load({SNAPSHOT: data}) == ""
    for _ in range(times(300)):
        damaged = flipped(data, chance)
        if damaged != data:
            assert SNAPSHOT in load({SNAPSHOT: damaged})


@pytest.mark.parametrize("kind", SNAPSHOTS)
def test_a_snapshot_whose_checksum_is_not_compared_gives_something_whole_or_nothing(
    kind: str,
) -> None:
    data, chance = SNAPSHOTS[kind], random.Random(SEED)
    outcomes: Counter[bool] = Counter()
    for _ in range(times(350)):
        refusal = load({SNAPSHOT: flipped(data, chance)}, rdbchecksum="no")
        outcomes[refusal == ""] += 1
        assert refusal == "" or OFFSET.search(refusal), refusal
    # Both must happen, or the test looks at nothing.
    assert outcomes[True] > 5 and outcomes[False] > 5, outcomes


@pytest.mark.parametrize("kind", SNAPSHOTS)
def test_a_damaged_snapshot_with_a_right_checksum_is_no_more_dangerous(kind: str) -> None:
    """As a program that writes nonsense would make it: its streams are read lazily."""
    data, chance = SNAPSHOTS[kind][:-8], random.Random(SEED)
    for _ in range(times(200)):
        damaged = flipped(data, chance)
        with time_limit(HANGS_AFTER_SECONDS):
            try:
                started = server(disk({SNAPSHOT: damaged + encode_checksum(crc64(damaged))}))
            except LoadFailed:
                continue
            client = started.connect()
            for db in started.instance.databases:
                client.execute("SELECT", db.index)
                for key in list(db.values):
                    client.execute("XRANGE", key, "-", "+")
                    client.execute("XINFO", "STREAM", key, "FULL")
            assert decode(client.execute("PING")) == b"PONG"


def test_flips_in_requests_are_refused_with_their_place_or_give_something_whole() -> None:
    chance = random.Random(SEED)
    outcomes: Counter[bool] = Counter()
    for _ in range(times(400)):
        damaged = flipped(REQUESTS[LAST_INCREMENT], chance)
        refusal = load(REQUESTS | {LAST_INCREMENT: damaged}, appendonly="yes")
        outcomes[refusal == ""] += 1
        if refusal:
            place = OFFSET.search(refusal)
            assert LAST_INCREMENT in refusal and place is not None, refusal
            assert int(place[1]) <= len(damaged)
    assert outcomes[True] > 5 and outcomes[False] > 5, outcomes


def test_flips_in_the_base_of_an_append_only_file_are_refused() -> None:
    base = f"{DIRECTORY}/appendonly.aof.2.base.rdb"
    chance = random.Random(SEED)
    for _ in range(times(300)):
        damaged = flipped(REQUESTS[base], chance)
        if damaged != REQUESTS[base]:
            assert base in load(REQUESTS | {base: damaged}, appendonly="yes")


def test_flips_in_a_dumped_value_are_refused_and_leave_no_key() -> None:
    started = server()
    fill(started, *STREAMS)
    client = started.connect()
    chance = random.Random(SEED)
    for key in ("orders", "sent", "empty"):
        payload = decode(client.execute("DUMP", key))
        for _ in range(60):
            damaged = flipped(payload, chance)
            if damaged != payload:
                reply = client.execute("RESTORE", "copy", 0, damaged)
                assert reply == b"-ERR DUMP payload version or checksum are wrong\r\n"
                assert client.execute("EXISTS", "copy") == b":0\r\n"


def test_a_crafted_value_with_a_right_checksum_is_whole_or_refused() -> None:
    started = server()
    fill(started, *STREAMS)
    client = started.connect()
    chance = random.Random(SEED)
    outcomes: Counter[bool] = Counter()
    for key in ("orders", "sent", "empty"):
        body = decode(client.execute("DUMP", key))[:-8]
        for _ in range(times(150)):
            damaged = flipped(body[:-2], chance) + body[-2:]
            with time_limit(HANGS_AFTER_SECONDS):
                payload = damaged + encode_checksum(crc64(damaged))
                reply = client.execute("RESTORE", "copy", 0, payload, "REPLACE")
                outcomes[reply == b"+OK\r\n"] += 1
                assert reply in (b"+OK\r\n", b"-ERR Bad data format\r\n"), reply
                check_database(started.instance.databases[0])
                look_at(client, b"copy")
    assert outcomes[True] > 5 and outcomes[False] > 5, outcomes
