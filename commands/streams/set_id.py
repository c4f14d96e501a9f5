"""XSETID (Redis 7.4): the counters of a stream, for replicas, files and repairs."""

from __future__ import annotations

from commands.core.arguments import Arguments
from commands.core.client import Client
from commands.core.registry import DENYOOM, FAST, WRITE, command, one_key
from commands.state import notifications
from commands.streams.groups.delivery import group_changed
from commands.streams.ids import parse_strict
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.entries.entry_id import MIN_ID
from storage.groups.lag import set_entries_added


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

    stream = client.lookup_stream_for_write(key)
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
