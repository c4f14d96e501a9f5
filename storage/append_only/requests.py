"""Requests for the append-only file and for replicas: as bytes, for a hash, and in carriers.

Encoding is on the hot path of every write, so its form was measured: for the five words of an XADD
with one field a `%`-format takes 0.33 us, for other counts hiredis is fastest (0.43 us for five
words, 1.4 us for 23; a join of `%`-formats needs twice that).

A carrier is one of Rillway's own requests wrapped in ECHO, which every Redis loads and replicates
safely:

    ECHO "rillway " "1" <the request in RESP>          (one bulk string)

A Redis does not start with an append-only file that has an unknown command in it, and a replica
drops the whole transaction that has one. ECHO changes nothing anywhere. So Rillway's own requests
are propagated in a marked ECHO, the same bytes to the file and to replicas. A client's ECHO is not
propagated, so carriers cannot be forged.

Leaves out: which requests are carried, and how they are run
(commands/core/registry.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hiredis import pack_command

from storage.append_only.reader import DamagedFile, RequestFile, TornFile
from storage.types.hashes import HashValue
from storage.types.records import field_of, value_of

_FIVE_WORDS = b"*5\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n"


def encode_request(argv: Sequence[bytes]) -> bytes:
    """One request."""
    if len(argv) == 5:
        a, b, c, d, e = argv
        return _FIVE_WORDS % (len(a), a, len(b), b, len(c), c, len(d), d, len(e), e)
    encoded: bytes = pack_command(tuple(argv))  # type: ignore[arg-type]  # stub: tuples of one
    return encoded


def encode_requests(requests: Iterable[Sequence[bytes]]) -> bytes:
    """Several requests, one after another."""
    return b"".join(map(encode_request, requests))


def select_request(db_index: int) -> bytes:
    """A SELECT: the requests that follow are for this database."""
    return encode_request((b"SELECT", b"%d" % db_index))


def timestamp_annotation(now_s: int) -> bytes:
    """An annotation with the Unix time of the following requests (aof-timestamp-enabled).

    A loader skips it; `redis-check-aof --truncate-to-timestamp` goes by it.
    """
    return b"#TS:%d\r\n" % now_s


PAIRS_PER_REQUEST = 64


def rebuild_hash(key: bytes, value: HashValue, now_ms: int) -> Iterator[list[bytes]]:
    """One HMSET for some fields; or, if any has a time, for each field and its time."""
    if value.expires is not None:
        for name, text in value.pairs():
            yield [b"HMSET", key, name, text]
            if (when_ms := value.time_of(name)) is not None:
                yield [b"HPEXPIREAT", key, b"%d" % when_ms, b"FIELDS", b"1", name]
        return
    for records in value.batches():
        for start in range(0, len(records), PAIRS_PER_REQUEST):
            request = [b"HMSET", key]
            for record in records[start : start + PAIRS_PER_REQUEST]:
                request += (field_of(record), value_of(record))
            yield request


def rebuild_times(key: bytes, value: HashValue) -> Iterator[list[bytes]]:
    """The requests that give the fields of a hash their times: one for each time."""
    fields: dict[int, list[bytes]] = {}
    for name, when_ms in (value.expires or {}).items():
        fields.setdefault(when_ms, []).append(name)
    for when_ms, names in fields.items():
        yield [b"HPEXPIREAT", key, b"%d" % when_ms, b"FIELDS", b"%d" % len(names), *names]


MARK = b"rillway\0"
VERSION = b"1"

Argv = list[bytes]


class UnknownCarrier(Exception):
    """A carrier that this version cannot read; the text has the reason."""


def wrap(request: Sequence[bytes]) -> Argv:
    """The ECHO that carries a request."""
    return [b"ECHO", MARK + VERSION + encode_request(request)]


def is_carrier(argv: Argv) -> bool:
    """Return True if an ECHO carries a request."""
    return len(argv) == 2 and argv[1].startswith(MARK)


def unwrap(argv: Argv) -> Argv | None:
    """The request that an ECHO carries; None if it is no carrier. Raises UnknownCarrier."""
    if not is_carrier(argv):
        return None
    content = argv[1].removeprefix(MARK)
    if not content.startswith(VERSION + b"*"):
        raise UnknownCarrier(f"Rillway's own state in a form that is unknown here: {content[:8]!r}")
    try:
        batches = list(RequestFile(content.removeprefix(VERSION)).batches())
    except (DamagedFile, TornFile):
        batches = []
    if len(batches) != 1 or len(batches[0].requests) != 1:
        raise UnknownCarrier(f"Rillway's own state is damaged: {content[:64]!r}")
    return list(batches[0].requests[0])
