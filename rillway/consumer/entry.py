"""An entry as a handler gets it, and entries in the server's replies.

redis-py turns the fields of an entry into a dictionary, which loses the first of two fields of one
name. What is moved to another stream must lose nothing; so replies are read here, field by field.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. `deliveries`: how often it was handed out, this time included."""

    id: str
    pairs: tuple[tuple[bytes, bytes], ...]
    deliveries: int = 1

    @property
    def fields(self) -> dict[bytes, bytes]:
        """By name; of a field that is there twice, the last."""
        return dict(self.pairs)


def id_order(entry_id: str) -> tuple[int, int]:
    """What IDs are sorted by: `5-2` is (5, 2), and `5` is (5, 0)."""
    ms, _, seq = entry_id.partition("-")
    return int(ms), int(seq or 0)


def streams_reply(reply: Any) -> Iterator[tuple[str, list[bytes] | None]]:
    """ID and flat fields of each entry in a reply of XREADGROUP for one stream.

    The fields are None if the entry was deleted since it was delivered.
    """
    streams = reply.items() if isinstance(reply, dict) else reply or []  # RESP3, RESP2
    for _, entries in streams:
        for entry_id, flat in entries:
            yield entry_id.decode(), flat


def paired(flat: Iterable[bytes]) -> tuple[tuple[bytes, bytes], ...]:
    """The pairs of a flat list of names and values."""
    words = iter(flat)
    return tuple(zip(words, words, strict=True))
