"""Anchors: entries that prove, by their bytes, that a stream still has the history that was read.

An ID does not identify an entry's content: a stream that was created again, or that lost its last
entries in a failover, may have other entries under the same IDs. So a reader remembers some of the
last entries that it read, by ID and hash. If one of them still has the same hash, the history is
the same up to it.

The entries kept are 1, 10, 100 and 1,000 back from the end, as nearly as small steps allow: if the
last one was lost or deleted, an older one shows where the histories diverged.

A hash is the hexadecimal SHA-1 of `length:word` for each name and value, in order; scripts compute
it with `redis.sha1hex`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rillway.pipeline.wire.ids import parse_id

if TYPE_CHECKING:
    from rillway.pipeline.arrow.decoder import RawEntry

DISTANCES = (1, 10, 100, 1000)


@dataclass(frozen=True, slots=True)
class Anchor:
    """An entry: its ID, the hash of its fields, how far back from the end it is (1: the last)."""

    id: int
    hash: str
    back: int = 1


def entry_hash(words: Iterable[bytes]) -> str:
    """Return the hash of an entry. `words`: its alternating names and values."""
    digest = hashlib.sha1(usedforsecurity=False)
    for word in words:
        digest.update(b"%d:%b" % (len(word), word))
    return digest.hexdigest()


def pick(entries: Sequence[RawEntry]) -> tuple[Anchor, ...]:
    """Return the anchors of entries, counted from their end, the last one first."""
    return tuple(
        Anchor(parse_id(entries[-back][0]), entry_hash(entries[-back][1]), back)
        for back in DISTANCES
        if back <= len(entries)
    )


def extended(before: Sequence[Anchor], added: int, picked: Sequence[Anchor]) -> tuple[Anchor, ...]:
    """Return the anchors after more entries were read, the last one first.

    `before`: the anchors so far; `added`: the number of entries read since; `picked`: their
    anchors. Between two distances the farthest one is kept, so anchors stay apart even if entries
    come one by one.
    """
    moved = [replace(anchor, back=anchor.back + added) for anchor in before]
    kept: list[Anchor] = []
    nearest = 0
    for farthest in DISTANCES:
        between = [a for a in (*picked, *moved) if nearest < a.back <= farthest]
        if between:
            kept.append(max(between, key=lambda anchor: anchor.back))
        nearest = farthest
    return tuple(kept)
