"""Entries that are added to a stream later. Rillway's own.

    XADD key [NOMKSTREAM] [IDMPAUTO pid | IDMP pid iid] <DELAY ms | AT unix-ms> * field value ...
    XSCHEDULED key [start end [COUNT n]]
    XUNSCHEDULE key ticket [ticket ...]

XADD answers a ticket, `<due-ms>-<n>` (storage/policies/schedule.py), which is not the ID of the
later entry: that one gets the ID of the time when it appears (appearance.py). Delays are measured
by the policy clock, so an entry is never early if the clock is set back.

A producer's name for an entry (IDMP) refers to the ticket, and to the entry once that has appeared.
A repetition gets the ticket, and later the ID.

Replicas and files get the schedule in carriers, as rows `scheduled` and `unscheduled`. A missing
stream is created empty, by creating and destroying a group, so that it exists on a Redis, too.
Scheduling does not change the stream: a transaction that watches the key does not fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from commands.core.arguments import INT64_MAX, parse_int
from commands.core.client import Client
from commands.core.long_reply import LongReply
from commands.core.registry import FAST, READONLY, WRITE, command, one_key
from commands.streams.groups.delivery import group_changed
from commands.streams.idempotence import Idempotency, new_stream
from commands.streams.ids import id_bulk, parse_range_end, parse_range_start
from commands.streams.policies.carrier import propagate_row
from commands.streams.policies.report import STREAM_FIELDS, Fields
from commands.streams.policies.timer import PolicyTimer, note
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.request import Request
from protocol.requests import Argv
from storage.entries.entry import decode_words, fields_header
from storage.entries.entry_id import id_ms, id_seq, make_id, parse_id
from storage.policies.schedule import LIMIT, Bucket, Schedule, Scheduled
from storage.policies.stream_policy import StreamPolicy
from storage.stream import Stream

# A longer list is sent in pieces.
MANY_ENTRIES = 1000
# The group that creates an empty stream on other servers.
_CREATOR = b"rillway"


# -- XADD with DELAY or AT ---------------------------------------------------------------------


@record
class Later:
    """DELAY or AT of one XADD."""

    option: bytes
    ms: int

    def due_ms(self, client: Client) -> int:
        """When the entry is due. Raises ReplyError if that is later than any time."""
        due_ms = self.ms
        if self.option == b"DELAY":
            due_ms += client.instance.feature(PolicyTimer).read_clock()
        if due_ms >= LIMIT:
            raise errors.invalid_delay(self.option)
        return due_ms


def parse_later(argv: Argv, position: int, known: Later | None) -> Later | None:
    """The option at `position`, of two words, if it is one; `known` came before.

    An option word without its argument is not an option. Raises ReplyError.
    """
    option = argv[position].upper()
    if option not in (b"DELAY", b"AT") or position + 1 == len(argv):
        return None
    if known is not None:
        if known.option == option:
            raise errors.specified_twice(option)
        raise ReplyError(errors.DELAY_WITH_AT)
    ms = parse_int(argv[position + 1], errors.invalid_delay(option).text, 0)
    return Later(option, ms)


def add_later(
    client: Client,
    key: bytes,
    stream: Stream | None,
    due_ms: int,
    fields: bytes,
    words: int,
    idempotency: Idempotency | None,
) -> bytes:
    """Schedule an entry of encoded names and values; the reply to XADD, which is the ticket."""
    if stream is None:
        stream = _created(client, key)
    schedule = _schedule_of(stream)
    number = schedule.add(due_ms, fields, words)
    ticket = b"%d" % due_ms, b"%d" % number
    if client.instance.propagation.sinks:
        propagate_row(client, key, b"scheduled", *ticket, *decode_words(fields, words))
    if idempotency is not None:
        name = idempotency.pid, idempotency.iid
        schedule.name(due_ms, number, *name)
        propagate_row(client, key, b"named", *ticket, *name)
    group_changed(client, key)
    note(client, key, stream)
    return replies.bulk(b"%b-%b" % ticket)


def _created(client: Client, key: bytes) -> Stream:
    """A new, empty stream at a key that does not exist."""
    stream = new_stream(client.instance.config)
    client.store(key, stream)
    client.modified(key)
    client.propagate(b"XGROUP", b"CREATE", key, _CREATOR, b"0", b"MKSTREAM")
    client.propagate(b"XGROUP", b"DESTROY", key, _CREATOR)
    return stream


def _schedule_of(stream: Stream) -> Schedule:
    """The stream's schedule, created at first use."""
    if stream.policy is None:
        stream.policy = StreamPolicy()
    if stream.policy.schedule is None:
        stream.policy.schedule = Schedule()
    return stream.policy.schedule


# -- XUNSCHEDULE -------------------------------------------------------------------------------


@command("XUNSCHEDULE", arity=-3, flags=WRITE | FAST, keys=one_key(b"RW", b"DELETE"))
def xunschedule(client: Client, argv: Request) -> bytes:
    """Integer: the number of entries that will not appear. Rillway's own."""
    key = argv[1]
    tickets = [parse_id(text) for text in argv[2:]]
    if None in tickets:
        raise ReplyError(errors.INVALID_TICKET)
    stream: Stream | None = client.lookup_stream_for_write(key)
    schedule = None if stream is None or stream.policy is None else stream.policy.schedule
    if stream is None or schedule is None:
        return replies.ZERO
    removed: list[bytes] = []
    for ticket in tickets:
        assert ticket is not None
        if schedule.remove(id_ms(ticket), id_seq(ticket)):
            removed += (b"%d" % id_ms(ticket), b"%d" % id_seq(ticket))
    if removed:
        propagate_row(client, key, b"unscheduled", *removed)
        group_changed(client, key)
    return replies.integer(len(removed) // 2)


# -- XSCHEDULED --------------------------------------------------------------------------------


@command("XSCHEDULED", arity=-2, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def xscheduled(client: Client, argv: Request) -> bytes | LongReply:
    """Array of tickets, each with its fields, by the times when they are due. Rillway's own."""
    start, end, most = _parse_range(argv)
    stream: Stream | None = client.lookup_stream(argv[1])
    schedule = None if stream is None or stream.policy is None else stream.policy.schedule
    if schedule is None or end < start or id_ms(start) >= LIMIT:
        return replies.EMPTY_ARRAY
    found = schedule.buckets_between(id_ms(start), min(id_ms(end), LIMIT - 1))
    buckets: list[Bucket] = []
    count = 0
    for bucket in found:
        buckets.append(bucket)
        count += bucket.live
        # Those of the first bucket may all be before the start.
        if count - buckets[0].live >= most:
            break
    if count <= MANY_ENTRIES:
        rows = (row for row in _rows(buckets, start, end) if row is not None)
        return replies.array(list(map(_item, islice(rows, most))))
    return LongReply(_in_pieces([bucket.copy() for bucket in buckets], start, end, most))


def _parse_range(argv: Request) -> tuple[int, int, int]:
    """The first and the last ticket, and the number of entries at most. Raises ReplyError."""
    most = INT64_MAX
    if len(argv) not in (2, 4, 6) or (len(argv) == 6 and argv[4].upper() != b"COUNT"):
        raise ReplyError(errors.SYNTAX)
    try:
        start = parse_range_start(argv[2] if len(argv) > 2 else b"-")
        end = parse_range_end(argv[3] if len(argv) > 2 else b"+")
    except ReplyError as error:
        if error.text == errors.INVALID_STREAM_ID:
            raise ReplyError(errors.INVALID_TICKET) from None
        raise
    if len(argv) == 6:
        most = parse_int(argv[5], errors.COUNT_NOT_POSITIVE, 1)
    return start, end, most


def _rows(buckets: list[Bucket], start: int, end: int) -> Iterator[Scheduled | None]:
    """The entries of a range in order; None where the caller may pause."""
    for bucket in buckets:
        for row in bucket.rows_in_order():
            if row is None or start <= make_id(row.due_ms, row.number) <= end:
                yield row
        yield None


def _item(row: Scheduled) -> bytes:
    ticket = id_bulk(make_id(row.due_ms, row.number))
    return b"*2\r\n%b%b%b" % (ticket, fields_header(row.words), row.fields)


def _in_pieces(buckets: list[Bucket], start: int, end: int, most: int) -> Iterator[bytes]:
    """A long list, of buckets that do not change. Nothing is sent before all is counted."""
    pieces: list[bytes] = []
    items: list[bytes] = []
    count = 0
    for row in _rows(buckets, start, end):
        if row is not None:
            items.append(_item(row))
            count += 1
        if row is None or count == most or len(items) == MANY_ENTRIES // 4:
            pieces.append(b"".join(items))
            items.clear()
            yield b""
        if count == most:
            break
    yield replies.array_header(count)
    yield from pieces


# -- what is reported --------------------------------------------------------------------------


def _fields(client: Client, key: bytes, stream: Stream) -> Fields:
    schedule = None if stream.policy is None else stream.policy.schedule
    if schedule is not None:
        yield "scheduled", schedule.count
        yield "scheduled-next", schedule.first_ms()


STREAM_FIELDS.append(_fields)
