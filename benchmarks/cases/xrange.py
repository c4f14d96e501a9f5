"""Cases of reading: XRANGE, XREVRANGE and XREAD of small entries; fan-out to blocked readers."""

from __future__ import annotations

import random
from functools import partial

from benchmarks.comparison import Case, Scale, Setting
from benchmarks.load.entries import MIXED, entry_id, fill
from benchmarks.load.fan_out import Fanning
from benchmarks.load.load import Load
from benchmarks.load.packed import PackedRequests
from benchmarks.load.redis_benchmark import RedisBenchmark
from benchmarks.rates import rate
from benchmarks.servers import Server

COUNTS = (1, 10, 100, 1000)
# redis-benchmark parses every reply; from this COUNT on it is slower than the server.
COUNTS_BY_BYTES = 100
# Enough that a server's cache of recently read entries does not determine the result.
PLACES = 1_000
READERS = (1, 10, 100, 1000)
BATCH = 100


def _small(scale: Scale) -> int:
    return scale.entries


def _large(scale: Scale) -> int:
    return scale.large


def _mixed(scale: Scale) -> int:
    """Mixed entries are five times as long as small ones."""
    return scale.entries // 5


def _fill(server: Server, scale: Scale) -> None:
    fill(server, _small(scale))


def _fill_large(server: Server, scale: Scale) -> None:
    fill(server, _large(scale))


def _fill_mixed(server: Server, scale: Scale) -> None:
    fill(server, _mixed(scale), MIXED)


STREAM = Setting("a stream", prepare=_fill)
# By a part of the cases' names: a stream, and how many entries it has.
STREAMS = {
    "": (STREAM, _small),
    "-of-10M": (Setting("a large stream", prepare=_fill_large), _large),
    "-mixed": (Setting("mixed entries", prepare=_fill_mixed), _mixed),
}


def read(command: str, count: int, scale: Scale, stream: str = "") -> Load:
    """Reads of COUNT entries at random places of a stream that `fill` has created."""
    entries = STREAMS[stream][1](scale)
    if count < COUNTS_BY_BYTES:
        return RedisBenchmark(_words(command, "1__rand_int__", count), 50, 1, entries)
    chance = random.Random(3)
    numbers = [chance.randrange(count, entries - count) for _ in range(PLACES)]
    places = [entry_id(number).decode() for number in numbers]
    return PackedRequests([_words(command, place, count) for place in places], clients=10)


def _words(command: str, place: str, count: int) -> tuple[str, ...]:
    """One request: COUNT entries from a place on, or backwards."""
    if command == "xread":
        return ("XREAD", "COUNT", str(count), "STREAMS", "s", place)
    end = "+" if command == "xrange" else "-"
    return (command.upper(), "s", place, end, "COUNT", str(count))


def _poll_in_vain(_: Scale) -> Load:
    return RedisBenchmark(("XREAD", "COUNT", "100", "STREAMS", "s", "9000000000000-0"), 50, 1)


def fan_out(readers: int, batch: int, _: Scale) -> Load:
    """Readers that block on an empty stream (fan-out)."""
    return Fanning(readers, batch)


def _case(command: str, count: int, stream: str = "") -> Case:
    load = partial(read, command, count, stream=stream)
    name = f"{command}/count-{count}{stream}"
    return rate(name, load, setting=STREAMS[stream][0], same_replies=True)


def _fan_out_case(readers: int, batch: int) -> Case:
    name = f"fan-out/{readers}-readers" + ("" if batch == BATCH else "-one-by-one")
    return rate(name, partial(fan_out, readers, batch), flush=True, unit="entries/s")


CASES: list[Case] = [
    *(_case(command, count) for command in ("xrange", "xrevrange", "xread") for count in COUNTS),
    rate("xread/nothing-new", _poll_in_vain, setting=STREAM, same_replies=True),
    *(_case("xrange", count, stream) for stream in ("-mixed", "-of-10M") for count in (10, 1000)),
    *(_fan_out_case(readers, BATCH) for readers in READERS),
    *(_fan_out_case(readers, 1) for readers in (1, 100)),
]
