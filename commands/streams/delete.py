"""XDEL, XDELEX (Redis 8.2) and XDELRANGE: entries are removed from anywhere in a stream.

What a deletion does with the references of groups:

    [KEEPREF | DELREF | ACKED]                       XADD, XTRIM
    [KEEPREF | DELREF | ACKED] IDS n id...           XDELEX, XACKDEL
    start end [COUNT n] [KEEPREF | DELREF | ACKED]   XDELRANGE

KEEPREF leaves the entry pending in its groups, DELREF removes it from every PEL, and ACKED deletes
only entries that every group was given and has acknowledged.

XDELRANGE is Rillway's own: XDEL of all entries in a range, or of the first `n` of them. In memory
it drops whole nodes. It is propagated in words that Redis 7.0 knows. If the stream begins with the
removed entries, these are two requests, whatever their number: XTRIM, and XSETID for the greatest
deleted ID, which a trim does not change. Otherwise they are XDELs with all IDs.
"""

from __future__ import annotations

from collections.abc import Iterable

from commands.core import notifications
from commands.core.arguments import INT64_MAX, Arguments, parse_int
from commands.core.client import Client
from commands.core.registry import FAST, WRITE, command, one_key
from commands.streams.groups.delivery import group_changed, propagate_removals
from commands.streams.ids import ascending, parse_all, parse_range_end, parse_range_start
from commands.streams.policies.timer import note
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.entries.entry_id import EntryID, format_id
from storage.groups.group import References, Traces
from storage.range_deletion import RangeDeletion
from storage.stream import Stream

POLICIES = {
    b"KEEPREF": References.KEEP,
    b"DELREF": References.DELETE,
    b"ACKED": References.ACKED,
}

# What XDELEX and XACKDEL answer for each ID.
NOT_FOUND = -1
DELETED = 1
STILL_REFERENCED = 2


def parse_deletion(argv: Request, position: int) -> tuple[References, list[EntryID]]:
    """The options of XDELEX and XACKDEL, in either order; the last IDS wins. Raises ReplyError."""
    references: References | None = None
    texts: list[bytes] | None = None
    while position < len(argv):
        word = argv[position].upper()
        if word in POLICIES and references is None:
            references = POLICIES[word]
            position += 1
        elif word == b"IDS" and position + 1 < len(argv):
            number = parse_int(argv[position + 1], errors.IDS_NOT_POSITIVE, 1)
            position += 2
            texts = argv[position : position + number]
            if len(texts) < number:
                raise ReplyError(errors.IDS_NUMBER_MISMATCH)
            position += number
        else:
            raise ReplyError(errors.SYNTAX)
    if texts is None:
        raise ReplyError(errors.IDS_REQUIRED)
    return references or References.KEEP, parse_all(texts)


def result_array(results: list[int]) -> bytes:
    """One result for each ID, as a reply."""
    return replies.array([replies.integer(result) for result in results])


# -- XDEL and XDELEX ---------------------------------------------------------------------------


@command("XDEL", arity=-3, flags=WRITE | FAST, keys=one_key(b"RW", b"DELETE"))
def xdel(client: Client, argv: Request) -> bytes:
    """Integer: the number of entries removed. Source: Redis 7.4."""
    key = argv[1]
    stream: Stream | None = client.lookup_stream_for_write(key)
    if stream is None:
        return replies.ZERO
    ids = parse_all(argv[2:])
    if len(ids) == 1:
        deleted = int(stream.delete(ids[0]))
    else:
        deleted = len(stream.delete_all(ascending(ids)))
    entries_deleted(client, key, stream, deleted, ids)
    return replies.integer(deleted)


@command("XDELEX", arity=-5, flags=WRITE | FAST, keys=one_key(b"RW", b"DELETE"))
def xdelex(client: Client, argv: Request) -> bytes:
    """Array of integers, one for each ID: 1 deleted, -1 not found, 2 kept because of a group.

    An ID that a group was not given yet counts as referenced (ACKED), whether it exists or not.
    Source: Redis 8.10.
    """
    key = argv[1]
    references, ids = parse_deletion(argv, 2)
    stream: Stream | None = client.lookup_stream_for_write(key)
    if stream is None:
        return result_array([NOT_FOUND] * len(ids))
    chosen = ordered = ascending(ids)
    if references is References.ACKED:
        chosen = stream.unreferenced(ordered)
    deleted = stream.delete_all(chosen)
    acknowledged = pending_by_group(client, stream, ordered, references)
    dropped = stream.drop_references(ordered) if references is References.DELETE else 0
    propagate_removals(client, key, acknowledged, deleted)
    if dropped:
        group_changed(client, key, dropped)
    entries_deleted(client, key, stream, len(deleted), deleted)
    return result_array(_results(ids, set(deleted), set(ordered).difference(chosen)))


def pending_by_group(
    client: Client, stream: Stream, ids: list[EntryID], references: References
) -> dict[bytes, list[EntryID]]:
    """The IDs (ascending) that DELREF is going to acknowledge, by the names of the groups."""
    if references is not References.DELETE or not client.instance.propagation.sinks:
        return {}
    found = {name: group.pending.among(ids) for name, group in stream.groups.items()}
    return {name: sorted(pending) for name, pending in found.items()}


def _results(ids: list[EntryID], deleted: set[EntryID], kept: set[EntryID]) -> list[int]:
    """The result for each ID. For a repeated ID only the first counts as deleted."""
    results: list[int] = []
    for entry_id in ids:
        if entry_id in deleted:
            deleted.remove(entry_id)
            results.append(DELETED)
        else:
            results.append(STILL_REFERENCED if entry_id in kept else NOT_FOUND)
    return results


def entries_deleted(
    client: Client, key: bytes, stream: Stream, deleted: int, ids: Iterable[EntryID]
) -> None:
    """Notify and mark the key as modified after `deleted` entries were deleted, if any.

    `ids`: which are not there any more.
    """
    if deleted:
        client.modified(key, deleted)
        client.notify(notifications.STREAM, b"xdel", key)
        if stream.policy is not None:
            ordered = sorted(ids)
            for group in stream.groups.values():
                if group.policy is not None and group.policy.keys is not None:
                    group.policy.keys.lose(sorted(group.pending.among(ordered)))
            note(client, key, stream)


# -- XDELRANGE ---------------------------------------------------------------------------------


@command("XDELRANGE", arity=-4, flags=WRITE, keys=one_key(b"RW", b"DELETE"))
def xdelrange(client: Client, argv: Request) -> bytes:
    """Integer: the number of entries removed. Rillway's own."""
    key = argv[1]
    start, end = parse_range_start(argv[2]), parse_range_end(argv[3])
    most, references = _parse_range_options(argv)
    stream: Stream | None = client.lookup_stream_for_write(key)
    if stream is None:
        return replies.ZERO
    deletion = RangeDeletion(stream, start, end, most, references)
    traces = Traces()
    is_propagated = bool(client.instance.propagation.sinks)
    is_wanted = is_propagated or stream.policy is not None
    ids = list(deletion.ids()) if is_wanted and not deletion.is_head else []
    deletion.apply(traces, client.instance.background_work.discard)
    if deletion.count and deletion.is_head:
        _propagate_head(client, key, stream)
    propagate_removals(client, key, traces.dropped, ids)
    if traces.dropped:
        group_changed(client, key)
    entries_deleted(client, key, stream, deletion.count, ids)
    return replies.integer(deletion.count)


def _parse_range_options(argv: Request) -> tuple[int, References]:
    """The most entries to remove, and what becomes of references. Raises ReplyError."""
    most: int | None = None
    references: References | None = None
    arguments = Arguments(argv, 4)
    while arguments:
        word = arguments.next_keyword()
        if word in POLICIES and references is None:
            references = POLICIES[word]
        elif word == b"COUNT" and arguments:
            if most is not None:
                raise errors.specified_twice(word)
            most = arguments.next_int(errors.COUNT_NOT_POSITIVE, 1)
        else:
            raise ReplyError(errors.SYNTAX)
    return most or INT64_MAX, references or References.KEEP


def _propagate_head(client: Client, key: bytes, stream: Stream) -> None:
    """The removal of the first entries, after it."""
    if stream.length:
        client.propagate(b"XTRIM", key, b"MINID", b"=", format_id(stream.first_id))
    else:
        client.propagate(b"XTRIM", key, b"MAXLEN", b"=", b"0")
    client.propagate(
        b"XSETID", key, format_id(stream.last_id), b"ENTRIESADDED", b"%d" % stream.entries_added,
        b"MAXDELETEDID", format_id(stream.max_deleted_id),
    )  # fmt: skip
