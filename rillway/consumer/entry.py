"""A stream entry for handlers, and the parsing of entries in replies.

redis-py converts an entry's fields to a dictionary, which loses the first of two fields with one
name. An entry that is moved to another stream must keep all fields, so replies are parsed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

LONGEST_DELAY_SECONDS = 1e9


@dataclass(slots=True)
class Verdict:
    """What a handler decided about its entry, if not that it is done."""

    retry_ms: int | None = None  # deliver it again after this time
    is_rejected: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: its ID as text, its fields and values in their order as bytes, and its deliveries.

    `deliveries` is how often it was delivered within the group, this time included.
    """

    id: str
    pairs: tuple[tuple[bytes, bytes], ...]
    deliveries: int = 1
    stream: str = field(default="", compare=False)  #: the key of its stream, or of its partition
    verdict: Verdict = field(default_factory=Verdict, compare=False, repr=False)

    @property
    def fields(self) -> dict[bytes, bytes]:
        """The values by field name; the last one of a repeated name."""
        return dict(self.pairs)

    def retry(self, in_: float | timedelta, reason: str = "") -> None:
        """Decide that this entry is to be delivered again, after seconds; it is not acknowledged.

        Takes effect when the handler returns. Raises ValueError for a negative time.
        """
        self.verdict.retry_ms = delay_ms(in_)
        self.verdict.reason = reason

    def reject(self, reason: str) -> None:
        """Decide that no consumer can handle this entry: it goes to the dead letters.

        Takes effect when the handler returns.
        """
        self.verdict.is_rejected = True
        self.verdict.reason = reason


def delay_ms(in_: float | timedelta) -> int:
    """Return a delay, given in seconds or as a timedelta, in ms. Raises ValueError."""
    seconds = in_.total_seconds() if isinstance(in_, timedelta) else in_
    if not 0 <= seconds < LONGEST_DELAY_SECONDS:
        raise ValueError(f"expected a time from 0 to 1e9 seconds, not {seconds}")
    return round(seconds * 1000)


def id_order(entry_id: str) -> tuple[int, int]:
    """The sort key of an ID: `5-2` is (5, 2), and `5` is (5, 0)."""
    ms, _, seq = entry_id.partition("-")
    return int(ms), int(seq or 0)


def streams_reply(reply: Any) -> Iterator[tuple[str, list[bytes] | None, int]]:
    """Yield ID, flat fields and deliveries of each entry in a reply to XREADGROUP for one stream.

    The fields are None if the entry was deleted since it was delivered. Without CLAIM, replies
    have no number of earlier deliveries: then it is 1.
    """
    streams = reply.items() if isinstance(reply, dict) else reply or []  # RESP3, RESP2
    for _, entries in streams:
        for entry_id, flat, *claimed in entries:
            yield entry_id.decode(), flat, int(claimed[1]) + 1 if claimed else 1


def paired(flat: Iterable[bytes]) -> tuple[tuple[bytes, bytes], ...]:
    """Return the pairs of a flat list of names and values."""
    words = iter(flat)
    return tuple(zip(words, words, strict=True))
