"""Policies as rows of words: the form in which files, snapshots and replicas get them.

A row is a kind and the words of that kind. It restores a part of what a stream has of policies, by
itself or after the rows that come before it:

    retain RETAIN-MS 86400000 RETAIN-REFS ACKED     settings: those, and no others
    retained 12 0 0                                 counters
    scheduled 1700000000000 5 field value           an entry that is added later, by its ticket
    group workers user ACK-WAIT 30000 ...           all options of a group, and who set DEAD-LETTER
    delays workers 1-1 1700000000000 ...            when released entries fall due
    reasons workers 1-1 text ...                    why entries were released
    reserved workers 5-1 ...                        entries that wait for their keys
    ahead workers 9-1                               up to where a group has looked ahead
    passed workers customer-1 7-1                   a key with too many, and from where
    deliveries workers 12 3 0 0 0                   counters of a group

A change is propagated as a row in a carrier (storage/append_only/requests.py), as the request
`XPOLICY key kind word ...`, which clients cannot send (commands/streams/policies/carrier.py). A
rewritten append-only file has the carriers of all rows after the stream. A snapshot has them in AUX
fields in front of the stream, `rillway-policy`, each with some rows:

    1               the version of the form
    *3 ...          a row, in the form of a request, and the next ones

Redis ignores all of these. A Rillway refuses a row that it does not know: to ignore it would
silently lose state that was promised.

A feature adds its rows to `FEATURES`. Rows should stay well below CHUNK_BYTES.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from functools import partial
from typing import NamedTuple

from storage.append_only.reader import DamagedFile, RequestFile, TornFile
from storage.append_only.requests import encode_request
from storage.policies import group_rows
from storage.policies.retention import Retention
from storage.policies.schedule import ROW_KINDS, Schedule
from storage.policies.stream_policy import StreamPolicy
from storage.stream import Stream

VERSION = b"1"
CHUNK_BYTES = 64 * 1024

Row = list[bytes]


class UnknownPolicy(ValueError):
    """A row that this version cannot read; the text has the reason."""


class Feature(NamedTuple):
    """The rows of one feature."""

    # All rows of a stream, in an order in which `restorers` can take them.
    rows: Callable[[Stream, StreamPolicy], Iterator[Row]]
    # By kind: take the words after the kind into a stream. Raise ValueError for bad ones.
    restorers: dict[bytes, Callable[[Stream, StreamPolicy, Row], object]]


def _retention_rows(stream: Stream, policy: StreamPolicy) -> Iterator[Row]:
    if policy.retention is not None:
        yield [b"retain", *policy.retention.settings_row()]
        if any(counters := policy.retention.counters()):
            yield [b"retained", *(b"%d" % number for number in counters)]


def _restore_retention(stream: Stream, policy: StreamPolicy, words: Row) -> None:
    restored = Retention.from_row(words)
    if policy.retention is not None:
        restored.count_from(policy.retention.counters())
    policy.retention = restored if restored.is_set else None


def _restore_retained(stream: Stream, policy: StreamPolicy, words: Row) -> None:
    if policy.retention is None:
        raise ValueError("counters without settings")
    policy.retention.count_from(map(int, words))


def _schedule_rows(stream: Stream, policy: StreamPolicy) -> Iterator[Row]:
    return iter(()) if policy.schedule is None else policy.schedule.rows()


def _restore_schedule(kind: bytes, stream: Stream, policy: StreamPolicy, words: Row) -> None:
    policy.schedule = policy.schedule or Schedule()
    policy.schedule.take_row(kind, words)


FEATURES: list[Feature] = [
    Feature(_retention_rows, {b"retain": _restore_retention, b"retained": _restore_retained}),
    Feature(_schedule_rows, {kind: partial(_restore_schedule, kind) for kind in ROW_KINDS}),
    Feature(group_rows.rows, group_rows.RESTORERS),
]

# The kinds of rows with counters, which are this server's own: a replica has its own values.
STATISTICS = {b"retained", group_rows.COUNTERS}


def rows_of(stream: Stream) -> Iterator[Row]:
    """All rows of a stream."""
    policy = stream.policy
    if policy is not None:
        for feature in FEATURES:
            yield from feature.rows(stream, policy)


def restore(stream: Stream, row: Row) -> None:
    """Take a row into a stream. Raises UnknownPolicy."""
    kind = row[0]
    take = next((each.restorers[kind] for each in FEATURES if kind in each.restorers), None)
    if take is None:
        raise UnknownPolicy(f"a policy of kind {kind[:64]!r} is unknown here")
    if stream.policy is None:
        stream.policy = StreamPolicy()
    try:
        take(stream, stream.policy, row[1:])
    except (ValueError, IndexError) as error:
        reason = f"a policy of kind {kind!r} is in a form that is unknown here: {error}"
        raise UnknownPolicy(reason) from None


def texts_of(stream: Stream, *, without: Container[bytes] = ()) -> Iterator[bytes]:
    """The texts of a stream's AUX fields, without the rows of some kinds."""
    parts, size = [VERSION], 0
    for row in rows_of(stream):
        if row[0] in without:
            continue
        part = encode_request(row)
        if size and size + len(part) > CHUNK_BYTES:
            yield b"".join(parts)
            parts, size = [VERSION], 0
        parts.append(part)
        size += len(part)
    if size:
        yield b"".join(parts)


def restore_text(stream: Stream, text: bytes) -> None:
    """Take the text of an AUX field into a stream. Raises UnknownPolicy."""
    if not text.startswith(VERSION + b"*"):
        raise UnknownPolicy(f"policies are in a form that is unknown here: {text[:8]!r}")
    try:
        batches = list(RequestFile(text.removeprefix(VERSION)).batches())
    except (DamagedFile, TornFile):
        raise UnknownPolicy(f"policies are damaged: {text[:64]!r}") from None
    for batch in batches:
        for row in batch.requests:
            restore(stream, list(row))
