"""Detects entries that were removed before they were read, and how many.

Redis reports no loss: a trimmed range is simply shorter. Losses are inferred from positions
(offsets.py) and from XINFO STREAM (facts.py):

- the stream ends before a position that was read, or has had fewer entries: it was deleted and
  created again, or an incomplete replica took over;
- more entries were removed than were read: a trim overtook the reader by exactly that number.

Entries that XDEL removed were removed on purpose and are no loss. Where both happened beyond the
position, the two cannot be distinguished: that logs a warning, and does not fail.

Not detected here: a stream that was created again and has overtaken the old one in IDs and number
of entries. If positions have anchors, divergence.py detects it.
"""

from __future__ import annotations

import logging

from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.wire.facts import StreamFacts
from rillway.pipeline.wire.ids import MIN_ID, format_id
from rillway.plurals import count_of

log = logging.getLogger("rillway.pipeline")
# The prefix by which warnings of tasks are found in Spark's output.
LOG_PREFIX = "rillway: "


class DataLost(Exception):
    """Entries to be read no longer exist; the message says which and how many."""


GO_ON = "option failOnDataLoss=false continues with the rest"


class LossPolicy:
    """The reaction to a loss.

    `failOnDataLoss`: raise, or warn and continue with the rest. `remedy`: advice for the error.

    Each warning is logged once.
    """

    def __init__(self, *, fails: bool, remedy: str = GO_ON) -> None:
        self.fails = fails
        self._remedy = remedy
        self._told: set[str] = set()

    def lost(self, text: str) -> None:
        """Raise DataLost, or log the loss."""
        if self.fails:
            raise DataLost(f"{text} ({self._remedy})")
        self.unclear(text)

    def diverged(self, text: str, instead: str) -> None:
        """Raise DataLost for a diverged history, or log it and `instead`, what is done instead."""
        text = f"{text}: it was created again, or a replica without its last entries has taken over"
        if self.fails:
            raise DataLost(f"{text} (option failOnDataLoss=false {instead})")
        self.unclear(f"{text}; {instead}")

    def unclear(self, text: str) -> None:
        """Log, once, a removal that may be a loss or intended."""
        if text not in self._told:
            self._told.add(text)
            log.warning("%s%s", LOG_PREFIX, text)


def check_start(policy: LossPolicy, stream: str, start: Position, facts: StreamFacts) -> None:
    """Check that everything after `start` is still there. Raises DataLost."""
    if start.id == MIN_ID:
        return  # "whatever exists" cannot be lost
    read = read_up_to(stream, start)
    if facts.is_missing:
        policy.lost(f"{read}, but the stream is gone")
    elif (ends := regress(start, facts)) is not None:
        policy.lost(
            f"{read}, but {ends}: it was created again, or a replica without its last "
            "entries has taken over"
        )
    elif start.n is None:
        if facts.first_id > start.id and facts.trimmed:
            policy.lost(
                f"{read}, but begins at {format_id(facts.first_id)} now and has lost "
                f"{count_of(facts.trimmed, 'entry')} in all: some of them may have come after that"
            )
    elif facts.trimmed > start.n:
        gone = facts.trimmed - start.n
        if facts.max_deleted_id > start.id:
            policy.unclear(
                f"{read}; {count_of(gone, 'entry')} after it had been deleted or trimmed"
            )
        else:
            policy.lost(
                f"{read}, but begins at {format_id(facts.first_id)} now: "
                f"{count_of(gone, 'entry')} between the two had been trimmed before they were read"
            )


def regress(start: Position, facts: StreamFacts) -> str | None:
    """Return where a stream ends that was read farther; None if it ends after `start`."""
    if facts.last_id >= start.id and (start.n is None or facts.entries_added >= start.n):
        return None
    added = count_of(facts.entries_added, "entry")
    return f"the stream ends at {format_id(facts.last_id)} after {added}"


def read_up_to(stream: str, start: Position) -> str:
    """Return the beginning of a message: how far a stream had been read."""
    counted = "" if start.n is None else f", {count_of(start.n, 'entry')}"
    return f"{stream}: had been read up to {format_id(start.id)}{counted}"


def check_count(
    policy: LossPolicy,
    stream: str,
    start: Position,
    end: Position,
    counted: int,
    facts: StreamFacts,
) -> None:
    """Check that a range holds as many entries as were ever added to it. Raises DataLost."""
    if start.n is None or end.n is None or counted >= end.n - start.n:
        return
    missing = end.n - start.n - counted
    text = (
        f"{stream}: {missing:,} of {count_of(end.n - start.n, 'entry')} after "
        f"{format_id(start.id)} up to {format_id(end.id)}"
    )
    if facts.max_deleted_id > start.id:
        policy.unclear(f"{text} had been deleted or trimmed")
    else:
        policy.lost(f"{text} had been trimmed before they were read")
