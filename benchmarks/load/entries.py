"""Test data for streams: shapes of entries, their XADD requests, pending entries of groups.

IDs are given: FIRST_MS-0, one more for each entry. They all have the same length, so that replies
with as many entries have the same length too, and redis-benchmark can draw one: `1__rand_int__`.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.servers import Server, ServerError, pack

FIRST_MS = 1_000_000_000_000
BATCH = 500
READ_BATCH = 1_000
CONSUMERS = 10
_WORDS = b"the order was sent late and came back to us because nobody was at home again".split()

Pairs = list[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Shape:
    """Entries of one kind. `pool` is the number of different entries, which then repeat."""

    fields: int
    pairs: Callable[[random.Random], Pairs]
    pool: int

    @functools.cached_property
    def bodies(self) -> list[bytes]:
        """The fields and values of each, packed as in a request after the ID."""
        chance = random.Random(7)
        return [self._body(chance) for _ in range(self.pool)]

    def _body(self, chance: random.Random) -> bytes:
        words = itertools.chain.from_iterable(self.pairs(chance))
        return b"".join([b"$%d\r\n%b\r\n" % (len(word), word) for word in words])


def _digits(chance: random.Random) -> bytes:
    return b"%012d" % chance.randrange(10**12)


def _numbers(chance: random.Random) -> Pairs:
    """Two numbers as text: an integer below 10,000 and a decimal with two places."""
    return [
        (b"count", b"%d" % chance.randrange(10_000)),
        (b"price", b"%d.%02d" % (chance.randrange(100), chance.randrange(100))),
    ]


def _mixed(chance: random.Random) -> Pairs:
    """Events like those of real programs, of varying length: a kind, a user, an amount, a token
    that hardly compresses, sometimes a remark."""
    remark = chance.choices(_WORDS, k=chance.choice([0, 0, 0, 0, 0, 3, 9]))
    return [
        (b"event", chance.choice([b"order", b"payment", b"refund", b"login", b"page-view"])),
        (b"user", b"%d" % chance.randrange(10 ** chance.randrange(1, 8))),
        (b"amount", b"%d.%02d" % (chance.randrange(5000), chance.randrange(100))),
        (b"token", chance.randbytes(chance.randrange(6, 18)).hex().encode()),
        (b"remark", b" ".join(remark)),
    ]


SMALL = Shape(1, lambda chance: [(b"f", _digits(chance))], 50_000)
# Random bytes do not compress.
KIB = Shape(1, lambda chance: [(b"f", chance.randbytes(1024))], 2_000)
WIDE = Shape(20, lambda chance: [(b"field-%02d" % n, _digits(chance)) for n in range(20)], 2_000)
NUMBERS = Shape(2, _numbers, 50_000)
MIXED = Shape(5, _mixed, 20_000)


def entry_id(number: int) -> bytes:
    """The ID of the entry with this number, from 0."""
    return b"%d-0" % (FIRST_MS + number)


def requests(
    key: bytes, count: int, shape: Shape = SMALL, first: int | None = 0
) -> Iterator[list[bytes]]:
    """XADD of `count` entries, packed, some hundred in each list.

    With `first` None, IDs are automatic: several entries have the same millisecond.
    """
    head = b"*%d\r\n$4\r\nXADD\r\n$%d\r\n%b\r\n" % (3 + 2 * shape.fields, len(key), key)
    bodies = itertools.cycle(shape.bodies)
    ids: Iterator[bytes] = itertools.repeat(b"$1\r\n*\r\n")
    if first is not None:
        ids = (b"$15\r\n%d-0\r\n" % ms for ms in itertools.count(FIRST_MS + first))
    for start in range(0, count, BATCH):
        size = min(BATCH, count - start)
        rows = zip(range(size), ids, bodies, strict=False)
        yield [b"%b%b%b" % (head, given, body) for _, given, body in rows]


def fill(
    server: Server,
    count: int,
    shape: Shape = SMALL,
    first: int | None = 0,
    *,
    stream: bytes = b"s",
) -> None:
    """Add entries to a stream. Raises ServerError if one is refused."""
    for batch in requests(stream, count, shape, first):
        server.pipeline(batch)


def deliver(server: Server, count: int, batch: int = READ_BATCH) -> None:
    """Create the group `g`, and let ten consumers read `count` entries and acknowledge nothing."""
    server.call("XGROUP", "CREATE", "s", "g", "0")
    for start in range(0, count, batch):
        consumer = b"c%d" % (start // batch % CONSUMERS)
        size = min(batch, count - start)
        request = ("XREADGROUP", "GROUP", "g", consumer, "COUNT", size, "STREAMS", "s", ">")
        server.raw_reply(pack(*request))


def acknowledge(server: Server, count: int, batch: int = READ_BATCH) -> None:
    """XACK the first `count` entries that `fill` added. Raises ServerError if one fails."""
    starts = range(0, count, batch)
    requests = [
        pack("XACK", "s", "g", *map(entry_id, range(n, min(n + batch, count)))) for n in starts
    ]
    acknowledged = sum(map(int, server.pipeline(requests)))
    if acknowledged != count:
        raise ServerError(f"{acknowledged} of {count} entries were acknowledged")
