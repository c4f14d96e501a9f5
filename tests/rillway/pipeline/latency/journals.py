"""Journals for tests: entries as the server writes them."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from rillway.pipeline.arrow.decoder import fields_decoder
from rillway.pipeline.latency.journal import NAMES

NOW_MS = 1_700_000_000_000


def acknowledgement(
    group: str = "g",
    consumer: str = "c",
    entry_id: str = f"{NOW_MS}-0",
    delivered: object = NOW_MS,
    acked: object = NOW_MS,
    *,
    stream: str = "s",
    deliveries: object = 1,
) -> list[bytes]:
    """The flat fields of one entry of a journal."""
    values = (stream, group, consumer, entry_id, delivered, acked, deliveries)
    texts = [text for pair in zip(NAMES, map(str, values), strict=True) for text in pair]
    return [text.encode() for text in texts]


def mixed() -> list[list[bytes]]:
    """A journal with every kind of entry, valid and invalid."""
    found = [
        acknowledgement(
            "g", f"c{number % 3}", f"{NOW_MS}-{number}", NOW_MS + 5, NOW_MS + 5 + number
        )
        for number in range(100)
    ]
    found += [acknowledgement("h", "c", f"{NOW_MS - 70_000}-0", NOW_MS, NOW_MS + 17)] * 3
    found += [
        acknowledgement(stream="other"),
        acknowledgement("g", "", delivered=0, acked=NOW_MS + 9),  # was given back
        acknowledgement("g", "c0", f"{2**64 - 1}-0", acked=NOW_MS + 1),  # an ID that is no time
        acknowledgement("g", "c0", f"{NOW_MS + 50}-0", NOW_MS + 60, NOW_MS),  # the clock went back
        acknowledgement("grüppe", "\\x", acked=NOW_MS + 4),
        [b"f", b"v"],
        acknowledgement(acked="soon"),
        acknowledgement(delivered=-1),
        acknowledgement(deliveries=""),
        [*acknowledgement()[:-2], b"deliveried", b"1"],
        [*acknowledgement(), b"more", b"1"],
    ]
    return found


UNREADABLE_OF_MIXED = 6


def as_batch(entries: Iterable[list[bytes]]) -> pa.RecordBatch:
    numbered = enumerate(entries)
    return fields_decoder("j")([[b"%d-%d" % (NOW_MS, n), fields] for n, fields in numbered])
