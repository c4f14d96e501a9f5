"""The requests that rebuild a hash. Source: Redis 7.4."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from storage.types.hashes import HashValue

PAIRS_PER_REQUEST = 64


def rebuild_hash(key: bytes, value: HashValue, now_ms: int) -> Iterator[list[bytes]]:
    """One HMSET for some fields; or, if any has a time, for each field and its time."""
    if value.expires:
        for name, text in value.live_fields(None).items():
            yield [b"HMSET", key, name, text]
            if (when_ms := value.expires.get(name)) is not None:
                yield [b"HPEXPIREAT", key, b"%d" % when_ms, b"FIELDS", b"1", name]
        return
    pairs = iter(value.fields.items())
    while some := list(islice(pairs, PAIRS_PER_REQUEST)):
        yield [b"HMSET", key, *chain.from_iterable(some)]
