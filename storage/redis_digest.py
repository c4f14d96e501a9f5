"""Digests of values as Redis computes them (DEBUG DIGEST-VALUE): 20 bytes, equal on any server.

redis-cli compares them when a key is on two nodes of a cluster, which a cut move of a slot leaves.
The digest of a stream covers its entries alone. storage/digest.py has those that cover all.

Source: Redis 7.0.15 and 8.2. The two differ in the digits of some scores; these are of 7.0.15.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from storage.entries.entry import decode_fields
from storage.entries.entry_id import MAX_ID, MIN_ID, id_ms, id_seq
from storage.stream import Stream
from storage.types.hashes import HashValue
from storage.types.lists import ListValue
from storage.types.sets import SetValue, SortedSetValue
from storage.types.value import StringValue, Value

DIGEST_BYTES = 20
BATCH = 1_000


def redis_digest(value: Value, expires_ms: int | None) -> bytes:
    """The digest of a value; of its deadline only that there is one."""
    number, add = _KINDS[type(value)]
    digest = _Digest()
    digest.mix(number.to_bytes(4, "big"))
    add(digest, value)
    if expires_ms is not None:
        digest.add(b"!!expire!!")
    return digest.to_bytes()


class _Digest:
    """A digest under way, as a number."""

    def __init__(self, *parts: bytes) -> None:
        self.number = 0
        for part in parts:
            self.mix(part)

    def add(self, part: bytes) -> None:
        """The order does not matter."""
        self.number ^= int.from_bytes(_sha1(part), "big")

    def mix(self, part: bytes) -> None:
        """The order matters."""
        self.add(part)
        self.number = int.from_bytes(_sha1(self.to_bytes()), "big")

    def to_bytes(self) -> bytes:
        return self.number.to_bytes(DIGEST_BYTES, "big")


def _sha1(data: bytes) -> bytes:
    from hashlib import sha1  # it loads OpenSSL: not at the start

    return sha1(data, usedforsecurity=False).digest()


def _add_string(digest: _Digest, value: StringValue) -> None:
    digest.mix(value.to_bytes())


def _add_list(digest: _Digest, value: ListValue) -> None:
    for items in value.slices(0, len(value)):
        for item in items:
            digest.mix(item)


def _add_set(digest: _Digest, value: SetValue) -> None:
    for member in value.members():
        digest.add(member)


def _add_sorted_set(digest: _Digest, value: SortedSetValue) -> None:
    for score, member in value.pairs():
        digest.add(_Digest(member, b"%.17g" % score).to_bytes())


def _add_hash(digest: _Digest, value: HashValue) -> None:
    expires = value.expires or {}
    for name, text in value.pairs():
        field = _Digest(name, text)
        if name in expires:
            field.add(b"!!hexpire!!")
        digest.add(field.to_bytes())


def _add_stream(digest: _Digest, value: Stream) -> None:
    ids = list(value.ids(MIN_ID, MAX_ID))
    for start in range(0, len(ids), BATCH):
        batch = ids[start : start + BATCH]
        for entry_id, entry in zip(batch, value.entries_of(batch), strict=True):
            digest.mix(b"%d.%d" % (id_ms(entry_id), id_seq(entry_id)))
            for part in decode_fields(entry or b""):
                digest.mix(part)


# The number of each type in Redis.
_KINDS: dict[type[Value], tuple[int, Callable[[_Digest, Any], None]]] = {
    StringValue: (0, _add_string),
    ListValue: (1, _add_list),
    SetValue: (2, _add_set),
    SortedSetValue: (3, _add_sorted_set),
    HashValue: (4, _add_hash),
    Stream: (6, _add_stream),
}
