"""The journal of acknowledgements: a stream that records them for another stream.

An acknowledgement removes an entry from a group's pending entries, and with it the data of its
delivery. A stream with a journal records that in another stream of the same database, as an entry
for each acknowledgement, in the form that is defined here.

When it is written to: commands/streams/groups/ack_journal.py.
"""

from __future__ import annotations

from protocol.records import record
from storage.entries.entry_id import format_id
from storage.groups.group import Group
from storage.groups.pending_block import PendingEntry

DEFAULT_MAX_LENGTH = 1_000_000
MAX_LENGTH_DIGITS = 19

# The fields of an entry of a journal. Times are Unix ms; `delivered` is 0 for an entry that was
# released, and `consumer` is empty then.
FIELD_NAMES = [
    b"stream", b"group", b"consumer", b"id", b"delivered", b"acked", b"deliveries",
]  # fmt: skip


@record
class AckJournal:
    """The journal settings of one stream."""

    key: bytes
    max_length: int = DEFAULT_MAX_LENGTH  # approximately: whole nodes are trimmed
    skipped: int = 0  # acknowledgements that could not be recorded

    def to_text(self) -> bytes:
        """Return the settings as text, for snapshots: their stream types have no field for them."""
        return b"%d %b" % (self.max_length, self.key)

    @classmethod
    def from_text(cls, text: bytes) -> AckJournal:
        """Parse such a text. Raises ValueError if it is invalid."""
        number, _, key = text.partition(b" ")
        if number.isdigit() and len(number) <= MAX_LENGTH_DIGITS and key:
            journal = cls(key, int(number))
            if journal.max_length and journal.to_text() == text:
                return journal
        raise ValueError(f"{text[:100]!r} is no journal")

    def copy(self) -> AckJournal:
        """Return these settings for a copy of the stream, with nothing skipped yet."""
        return AckJournal(self.key, self.max_length)


def journal_request(key: bytes, journal: AckJournal | None) -> list[bytes]:
    """Return Rillway's own request that gives the stream at `key` this journal, for a carrier."""
    if journal is None:
        return [b"XCFGSET", key, b"ACK-JOURNAL", b""]
    limit = b"%d" % journal.max_length
    return [b"XCFGSET", key, b"ACK-JOURNAL", journal.key, b"ACK-JOURNAL-MAXLEN", limit]


def acknowledgement_fields(
    stream_key: bytes, group: Group, pending: PendingEntry, acked_ms: int
) -> list[bytes]:
    """The journal's entry for one acknowledgement, flat: field, value, field ..."""
    owner = b"" if pending.consumer is None else pending.consumer.name
    values = (
        stream_key, group.name, owner, format_id(pending.entry_id), b"%d" % pending.delivery_ms,
        b"%d" % acked_ms, b"%d" % pending.delivery_count,
    )  # fmt: skip
    return [word for pair in zip(FIELD_NAMES, values, strict=True) for word in pair]
