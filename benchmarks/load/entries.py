"""Test data for streams: shapes of entries, their XADD requests, pending entries of groups.

IDs are given: FIRST_MS-0, one more for each entry. They all have the same length, so that replies
with as many entries have the same length too, and redis-benchmark can draw one: `1__rand_int__`.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass

import hiredis

from benchmarks.servers import Server, ServerError, connect, pack

FIRST_MS = 1_000_000_000_000
BATCH = 500
READ_BATCH = 1_000
CONSUMERS = 10


@dataclass(frozen=True)
class Shape:
    """Entries of one kind: how many fields, and bytes in each value. Values differ.

    Values of up to 32 bytes are decimal digits, as numbers and times are; longer ones are random
    bytes, which do not compress. `pool` is the number of different entries, which then repeat.
    """

    name: str
    fields: int
    value_bytes: int
    pool: int

    @functools.cached_property
    def bodies(self) -> list[bytes]:
        """The fields and values of each, packed as in a request after the ID."""
        chance = random.Random(7)
        return [self._body(chance) for _ in range(self.pool)]

    def _body(self, chance: random.Random) -> bytes:
        names = [b"f"] if self.fields == 1 else [b"field-%02d" % n for n in range(self.fields)]
        return _packed([(name, self._value(chance)) for name in names])

    def _value(self, chance: random.Random) -> bytes:
        if self.value_bytes > 32:
            return chance.randbytes(self.value_bytes)
        return b"%0*d" % (self.value_bytes, chance.randrange(10**self.value_bytes))


class Numbers(Shape):
    """Two numbers as text: an integer below 10,000 and a decimal with two places."""

    def _body(self, chance: random.Random) -> bytes:
        pairs = [
            (b"count", b"%d" % chance.randrange(10_000)),
            (b"price", b"%d.%02d" % (chance.randrange(100), chance.randrange(100))),
        ]
        return _packed(pairs)


class Mixed(Shape):
    """Events like those of real programs, of varying length: a kind, a user, an amount, a token
    that hardly compresses, sometimes a remark."""

    def _body(self, chance: random.Random) -> bytes:
        remark = chance.choices(_WORDS, k=chance.choice([0, 0, 0, 0, 0, 3, 9]))
        pairs = [
            (b"event", chance.choice([b"order", b"payment", b"refund", b"login", b"page-view"])),
            (b"user", b"%d" % chance.randrange(10 ** chance.randrange(1, 8))),
            (b"amount", b"%d.%02d" % (chance.randrange(5000), chance.randrange(100))),
            (b"token", chance.randbytes(chance.randrange(6, 18)).hex().encode()),
            (b"remark", b" ".join(remark)),
        ]
        return _packed(pairs)


_WORDS = b"the order was sent late and came back to us because nobody was at home again".split()


def _packed(pairs: list[tuple[bytes, bytes]]) -> bytes:
    """Names and values as in a request."""
    words = [word for pair in pairs for word in pair]
    return b"".join([b"$%d\r\n%b\r\n" % (len(word), word) for word in words])


SMALL = Shape("small", fields=1, value_bytes=12, pool=50_000)
KIB = Shape("1 KiB", fields=1, value_bytes=1024, pool=2_000)
WIDE = Shape("20 fields", fields=20, value_bytes=12, pool=2_000)
NUMBERS = Numbers("two numbers", fields=2, value_bytes=0, pool=50_000)
MIXED = Mixed("mixed", fields=5, value_bytes=0, pool=20_000)


def entry_id(number: int) -> bytes:
    """The ID of the entry with this number, from 0."""
    return b"%d-0" % (FIRST_MS + number)


def adding(key: bytes, shape: Shape) -> bytes:
    """The beginning of an XADD with an automatic ID, before the entry's body."""
    return _head(key, shape) + b"$1\r\n*\r\n"


def _head(key: bytes, shape: Shape) -> bytes:
    return b"*%d\r\n$4\r\nXADD\r\n$%d\r\n%b\r\n" % (3 + 2 * shape.fields, len(key), key)


def requests(key: bytes, count: int, shape: Shape, first: int | None = 0) -> Iterator[bytes]:
    """XADD of `count` entries, packed, some hundred in each piece.

    With `first` None, IDs are automatic: several entries have the same millisecond.
    """
    head = _head(key, shape)
    bodies = itertools.cycle(shape.bodies)
    for start in range(0, count, BATCH):
        pieces = itertools.islice(bodies, min(BATCH, count - start))
        if first is None:
            yield b"".join([adding(key, shape) + body for body in pieces])
            continue
        numbers = itertools.count(FIRST_MS + first + start)
        yield b"".join(
            [b"%b$15\r\n%d-0\r\n%b" % (head, ms, body) for ms, body in zip(numbers, pieces)]  # noqa: B905
        )


def fill(
    server: Server, key: bytes, count: int, shape: Shape = SMALL, first: int | None = 0
) -> None:
    """Add entries. Raises ServerError if one is refused."""
    with connect(server.port) as connection:
        reader = hiredis.Reader()
        missing = 0
        pieces = requests(key, count, shape, first)
        for piece, size in zip(pieces, _batch_sizes(count), strict=True):
            connection.sendall(piece)
            missing += size
            while missing > BATCH:  # build the next piece while the server works on this one
                missing -= _replies(connection.recv(1 << 16), reader)
        while missing:
            missing -= _replies(connection.recv(1 << 16), reader)


def deliver(server: Server, key: bytes, group: bytes, count: int, batch: int = READ_BATCH) -> None:
    """Create the group, and let ten consumers read `count` entries without acknowledging them."""
    server.call("XGROUP", "CREATE", key, group, "0")
    for start in range(0, count, batch):
        consumer = b"c%d" % (start // batch % CONSUMERS)
        size = min(batch, count - start)
        request = ("XREADGROUP", "GROUP", group, consumer, "COUNT", size, "STREAMS", key, ">")
        server.raw_reply(pack(*request))


def acknowledge(server: Server, key: bytes, group: bytes, count: int) -> None:
    """XACK the first `count` entries that `fill` added. Raises ServerError if one fails."""
    acknowledged = 0
    for start in range(0, count, READ_BATCH):
        ids = [entry_id(number) for number in range(start, min(start + READ_BATCH, count))]
        reply = server.call("XACK", key, group, *ids)
        assert isinstance(reply, int)
        acknowledged += reply
    if acknowledged != count:
        raise ServerError(f"{acknowledged} of {count} entries were acknowledged")


def _batch_sizes(count: int) -> Iterator[int]:
    for start in range(0, count, BATCH):
        yield min(BATCH, count - start)


def _replies(chunk: bytes, reader: hiredis.Reader) -> int:
    """Return the number of replies that a chunk completes."""
    if not chunk:
        raise ServerError("the server closed the connection")
    reader.feed(chunk)
    count = 0
    while (reply := reader.gets()) is not False:
        if isinstance(reply, hiredis.ReplyError):
            raise ServerError(str(reply))
        count += 1
    return count
