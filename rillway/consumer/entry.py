"""A stream entry for handlers, and the parsing of entries in replies.

redis-py converts an entry's fields to a dictionary, which loses the first of two fields with one
name. An entry that is moved to another stream must keep all fields, so replies are parsed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: its ID as text, its fields and values in their order as bytes, and its deliveries.

    `deliveries` is how often it was delivered within the group, this time included.
    """

    id: str
    pairs: tuple[tuple[bytes, bytes], ...]
    deliveries: int = 1
    stream: str = field(default="", compare=False)  #: the key of its stream, or of its partition

    @property
    def fields(self) -> dict[bytes, bytes]:
        """The values by field name; the last one of a repeated name."""
        return dict(self.pairs)


def id_order(entry_id: str) -> tuple[int, int]:
    """The sort key of an ID: `5-2` is (5, 2), and `5` is (5, 0)."""
    ms, _, seq = entry_id.partition("-")
    return int(ms), int(seq or 0)


def streams_reply(reply: Any) -> Iterator[tuple[str, list[bytes] | None]]:
    """Yield ID and flat fields of each entry in a reply to XREADGROUP for one stream.

    The fields are None if the entry was deleted since it was delivered.
    """
    streams = reply.items() if isinstance(reply, dict) else reply or []  # RESP3, RESP2
    for _, entries in streams:
        for entry_id, flat in entries:
            yield entry_id.decode(), flat


def paired(flat: Iterable[bytes]) -> tuple[tuple[bytes, bytes], ...]:
    """Return the pairs of a flat list of names and values."""
    words = iter(flat)
    return tuple(zip(words, words, strict=True))
