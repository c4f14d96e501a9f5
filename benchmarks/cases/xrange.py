"""Cases of reading: XRANGE, XREVRANGE and XREAD of small entries; fan-out to blocked readers."""

from __future__ import annotations

import random
from functools import partial

from benchmarks.cases.case import Case
from benchmarks.cases.rates import rate
from benchmarks.contenders import Scale, Setting
from benchmarks.load.entries import MIXED, entry_id, fill
from benchmarks.load.fan_out import Fanning
from benchmarks.load.load import Load
from benchmarks.load.packed_requests import Cycling
from benchmarks.load.redis_benchmark import RedisBenchmark
from benchmarks.servers import Server

COUNTS = (1, 10, 100, 1000)
# redis-benchmark parses every reply; from this COUNT on it is slower than the server.
COUNTS_BY_BYTES = 100
# Enough that a server's cache of recently read entries does not determine the result.
PLACES = 1_000
# Mixed entries are five times as long as small ones.
MIXED_DIVISOR = 5
READERS = (1, 10, 100, 1000)
BATCH = 100
TARGETS = {("xrange", 1000): 6.0}
QUICK = {("xrange", 10), ("xrange", 1000), ("xread", 100)}


def _fill_stream(server: Server, scale: Scale) -> None:
    fill(server, b"s", scale.entries)


def _fill_mixed(server: Server, scale: Scale) -> None:
    fill(server, b"s", scale.entries // MIXED_DIVISOR, MIXED)


def _fill_large(server: Server, scale: Scale) -> None:
    fill(server, b"s", scale.large)


STREAM = Setting("a stream", prepare=_fill_stream)
LARGE_STREAM = Setting("a large stream", prepare=_fill_large)
MIXED_STREAM = Setting("mixed entries", prepare=_fill_mixed)


def reading(command: str, count: int, entries: int) -> Load:
    """Reads of COUNT entries at random places of a stream that `fill` has created."""
    if count < COUNTS_BY_BYTES:
        return RedisBenchmark(read_words(command, "1__rand_int__", count), 50, 1, entries)
    chance = random.Random(3)
    numbers = [chance.randrange(count, entries - count) for _ in range(PLACES)]
    places = [entry_id(number).decode() for number in numbers]
    return Cycling([read_words(command, place, count) for place in places], clients=10)


def read_words(command: str, place: str, count: int) -> tuple[str, ...]:
    """One request: COUNT entries from a place on, or backwards."""
    if command == "xread":
        return ("XREAD", "COUNT", str(count), "STREAMS", "s", place)
    end = "+" if command == "xrange" else "-"
    return (command.upper(), "s", place, end, "COUNT", str(count))


def read(command: str, count: int, scale: Scale) -> Load:
    """Reads of the stream of the setting STREAM."""
    return reading(command, count, scale.entries)


def _read_mixed(command: str, count: int, scale: Scale) -> Load:
    return reading(command, count, scale.entries // MIXED_DIVISOR)


def _read_large(count: int, scale: Scale) -> Load:
    return reading("xrange", count, scale.large)


def _poll_in_vain(_: Scale) -> Load:
    return RedisBenchmark(("XREAD", "COUNT", "100", "STREAMS", "s", "9000000000000-0"), 50, 1)


def fan_out(readers: int, batch: int, _: Scale) -> Load:
    """Readers that block on an empty stream (fan-out)."""
    return Fanning(readers, batch)


def _fan_out_case(readers: int, batch: int) -> Case:
    return rate(
        f"fan-out/{readers}-readers" if batch == BATCH else f"fan-out/{readers}-readers-one-by-one",
        partial(fan_out, readers, batch),
        flush=True,
        unit="entries/s",
        at_least=2.0 if (readers, batch) == (100, BATCH) else None,
        is_quick=(readers, batch) == (100, BATCH),
    )


CASES: list[Case] = [
    *(
        rate(
            f"{command}/count-{count}",
            partial(read, command, count),
            setting=STREAM,
            same_replies=True,
            at_least=TARGETS.get((command, count)),
            is_quick=(command, count) in QUICK,
        )
        for command in ("xrange", "xrevrange", "xread")
        for count in COUNTS
    ),
    rate("xread/nothing-new", _poll_in_vain, setting=STREAM, same_replies=True),
    *(
        rate(
            f"{command}/mixed-count-{count}",
            partial(_read_mixed, command, count),
            setting=MIXED_STREAM,
            same_replies=True,
        )
        for command in ("xrange", "xrevrange")
        for count in (10, 1000)
    ),
    *(
        rate(
            f"xrange/count-{count}-of-10M",
            partial(_read_large, count),
            setting=LARGE_STREAM,
            same_replies=True,
        )
        for count in (10, 1000)
    ),
    *(_fan_out_case(readers, BATCH) for readers in READERS),
    *(_fan_out_case(readers, 1) for readers in (1, 100)),
]
