"""The requests that rebuild a hash. Source: Redis 7.4."""

from __future__ import annotations

from collections.abc import Iterator

from storage.types.hashes import HashValue
from storage.types.records import field_of, value_of

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
