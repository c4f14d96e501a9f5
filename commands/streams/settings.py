"""XCFGSET and XSETID: the settings of a stream, and its counters.

    IDMP-DURATION, IDMP-MAXSIZE         how long and how many idempotent IDs it remembers
    ACK-JOURNAL, ACK-JOURNAL-MAXLEN     which stream its acknowledgements are written to (Rillway's
                                        own; commands/streams/groups/ack_journal.py)
    RETAIN-MS and others                which entries it keeps (Rillway's own;
                                        commands/streams/policies/retention.py)

`ACK-JOURNAL ""` turns the journal off. Its limit has a default and stays when another key is named.
Settings of the journal are propagated in a carrier (commands/core/registry.py),
since no Redis knows them.
"""

from __future__ import annotations

from collections.abc import Sequence

from commands.core import notifications
from commands.core.arguments import INT64_MAX, Arguments, parse_int
from commands.core.client import Client
from commands.core.registry import (
    DENYOOM,
    FAST,
    MOVABLE_KEYS,
    WRITE,
    KeySpec,
    command,
    one_key,
    propagate_carried,
)
from commands.streams.groups.delivery import group_changed
from commands.streams.idempotence import idempotence_of
from commands.streams.ids import parse_strict
from commands.streams.policies.retention import (
    OPTIONS,
    changed_retention,
    parse_option,
    set_retention,
)
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.request import Request
from storage.entries.entry import decode_fields
from storage.entries.entry_id import MIN_ID
from storage.groups.ack_journal import DEFAULT_MAX_LENGTH, FIELD_NAMES, AckJournal, journal_request
from storage.stream import Stream, set_entries_added

MAX_DURATION_S = 86_400
MAX_MAXSIZE = 10_000

# The numeric parameters: the greatest value, and the error out of bounds.
LIMITS = {
    b"IDMP-DURATION": (MAX_DURATION_S, errors.IDMP_DURATION_RANGE),
    b"IDMP-MAXSIZE": (MAX_MAXSIZE, errors.IDMP_MAXSIZE_RANGE),
    b"ACK-JOURNAL-MAXLEN": (INT64_MAX, errors.ACK_JOURNAL_MAXLEN_RANGE),
}
PARAMETERS = LIMITS.keys() | OPTIONS | {b"ACK-JOURNAL"}


@record
class Settings:
    """The settings that a request names; None for the others."""

    idmp_duration_s: int | None
    idmp_maxsize: int | None
    journal_key: bytes | None  # empty: turned off
    journal_max_length: int | None
    retention: dict[bytes, bytes]

    @property
    def names_idempotence(self) -> bool:
        return self.idmp_duration_s is not None or self.idmp_maxsize is not None


def _journal_positions(argv: Sequence[bytes]) -> list[int]:
    """The key of a journal, which acknowledgements will write to: users need the right to it."""
    return [
        position + 1
        for position in range(2, len(argv) - 1, 2)
        if argv[position].upper() == b"ACK-JOURNAL" and argv[position + 1]
    ]


_SET = KeySpec(begin=1, flags=(b"RW", b"UPDATE"))
_JOURNAL = KeySpec(flags=(b"RW", b"INSERT", b"DELETE"), is_unknown=True, find=_journal_positions)


@command("XCFGSET", arity=-2, flags=WRITE | FAST | MOVABLE_KEYS, keys=(_SET, _JOURNAL))
def xcfgset(client: Client, argv: Request) -> bytes:
    """OK. A limit of idempotent IDs that differs makes the stream forget all of them.

    Source: Redis 8.6; the journal and the retention are Rillway's own.
    """
    key = argv[1]
    settings = _parse_settings(argv)
    stream: Stream | None = client.lookup_stream_for_write(key)
    if stream is None:
        raise ReplyError(errors.NO_SUCH_KEY)
    journal = _journal(client, key, stream, settings)
    retention = changed_retention(stream, settings.retention) if settings.retention else None
    if settings.names_idempotence:
        idempotence = idempotence_of(stream)
        if idempotence.configure(settings.idmp_duration_s, settings.idmp_maxsize):
            group_changed(client, key)
            _propagate_idempotence(client, key, settings)
    if journal != stream.ack_journal:
        stream.ack_journal = journal
        group_changed(client, key)
        propagate_carried(client, *journal_request(key, journal))
    if retention is not None:
        set_retention(client, key, stream, retention)
    return replies.OK


def _propagate_idempotence(client: Client, key: bytes, settings: Settings) -> None:
    """Propagate the parameters about idempotent IDs, which Redis before 8.6 does not know."""
    request = [b"XCFGSET", key]
    if settings.idmp_duration_s is not None:
        request += (b"IDMP-DURATION", b"%d" % settings.idmp_duration_s)
    if settings.idmp_maxsize is not None:
        request += (b"IDMP-MAXSIZE", b"%d" % settings.idmp_maxsize)
    propagate_carried(client, *request)


def _journal(client: Client, key: bytes, stream: Stream, settings: Settings) -> AckJournal | None:
    """The stream's new journal. Raises ReplyError."""
    known, name = stream.ack_journal, settings.journal_key
    if name is None:
        if settings.journal_max_length is not None and known is None:
            raise ReplyError(errors.ACK_JOURNAL_IS_OFF)
        name = b"" if known is None else known.key
    elif name:
        _check_key(client, key, name)
    if not name:
        return None
    if known is None or known.key != name:
        limit = DEFAULT_MAX_LENGTH if known is None else known.max_length
        return AckJournal(name, settings.journal_max_length or limit)
    return AckJournal(name, settings.journal_max_length or known.max_length, known.skipped)


def _check_key(client: Client, key: bytes, name: bytes) -> None:
    """Raise ReplyError for a key that must not become a journal, because it would be trimmed.

    A setting that was accepted before is accepted again, whatever the key now holds.
    """
    if client.replays:
        return
    if name == key:
        raise ReplyError(errors.ACK_JOURNAL_IS_SELF)
    target = client.lookup_stream_for_write(name)
    last = None if target is None else target.last_entry()
    if last is not None and decode_fields(last)[::2] != FIELD_NAMES:
        raise ReplyError(errors.ACK_JOURNAL_IN_USE)


def _parse_settings(argv: Request) -> Settings:
    """Raises ReplyError."""
    given: set[bytes] = set()
    numbers: dict[bytes, int] = {}
    retention: dict[bytes, bytes] = {}
    journal_key: bytes | None = None
    arguments = Arguments(argv, 2)
    while arguments:
        parameter = arguments.next_keyword()
        if not arguments or parameter not in PARAMETERS:
            raise ReplyError(errors.SYNTAX)
        if parameter in given:
            raise errors.specified_twice(parameter)
        given.add(parameter)
        if parameter == b"ACK-JOURNAL":
            journal_key = arguments.next()
        elif parameter in OPTIONS:
            retention[parameter] = parse_option(parameter, arguments.next())
        else:
            value = parse_int(arguments.next())
            maximum, out_of_range = LIMITS[parameter]
            if not 1 <= value <= maximum:
                raise ReplyError(out_of_range)
            numbers[parameter] = value
    if not given:
        raise ReplyError(errors.XCFGSET_NOTHING)
    settings = Settings(
        numbers.get(b"IDMP-DURATION"),
        numbers.get(b"IDMP-MAXSIZE"),
        journal_key,
        numbers.get(b"ACK-JOURNAL-MAXLEN"),
        retention,
    )
    if journal_key == b"" and settings.journal_max_length is not None:
        raise ReplyError(errors.ACK_JOURNAL_IS_OFF)
    return settings


# -- XSETID ------------------------------------------------------------------------------------


@command("XSETID", arity=-3, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"UPDATE"))
def xsetid(client: Client, argv: Request) -> bytes:
    """OK. MAXDELETEDID 0-0 leaves the old value. Source: Redis 7.4."""
    key, last_id = argv[1], parse_strict(argv[2])
    entries_added: int | None = None
    max_deleted_id = MIN_ID
    arguments = Arguments(argv, 3)
    while arguments:
        option = arguments.next_keyword()
        if option == b"ENTRIESADDED":
            entries_added = arguments.next_int()
            if entries_added < 0:
                raise ReplyError(errors.XSETID_ADDED_NEGATIVE)
        elif option == b"MAXDELETEDID":
            max_deleted_id = parse_strict(arguments.next())
            if last_id < max_deleted_id:
                raise ReplyError(errors.XSETID_BELOW_GIVEN_DELETED)
        else:
            raise ReplyError(errors.SYNTAX)

    stream: Stream | None = client.lookup_stream_for_write(key)
    if stream is None:
        raise ReplyError(errors.NO_SUCH_KEY)
    # Redis 7.0 takes it, so its append-only files may hold it, and its replicas get it.
    if last_id < stream.max_deleted_id and not client.replays:
        raise ReplyError(errors.XSETID_BELOW_DELETED)
    if stream.length:
        if last_id < stream.last_live_id:
            raise ReplyError(errors.XSETID_BELOW_TOP)
        if entries_added is not None and entries_added < stream.length:
            raise ReplyError(errors.XSETID_ADDED_BELOW_LENGTH)

    stream.last_id = last_id
    if entries_added is not None:
        set_entries_added(stream, entries_added)
    if max_deleted_id != MIN_ID:
        stream.max_deleted_id = max_deleted_id
    stream.max_deleted_id = min(stream.max_deleted_id, last_id)
    group_changed(client, key)
    client.notify(notifications.STREAM, b"xsetid", key)
    return replies.OK
