"""XNACK: consumers release entries (Redis 8.8); XREASON: why.

    XNACK key group SILENT|FAIL|FATAL IDS n id [id ...] [RETRYCOUNT n] [FORCE]
        [DELAY ms] [REASON text]

DELAY and REASON are Rillway's own. An entry with a DELAY cannot be read, nor taken by CLAIM or
XAUTOCLAIM, before it is over. A REASON is kept as long as the entry is pending, or until the next
XNACK; XREASON returns it.

In a group with ACK-WAIT (storage/policies/due_entries.py), released entries are delivered again by
plain reads: after the pause that BACKOFF says, or after DELAY. SILENT takes the delivery back, and
the entry waits for the first pause. An entry that had its last delivery (MAX-DELIVERIES), or that
is released as FATAL, goes to the dead letters at once.

A release is propagated as every Redis knows it (commands/streams/groups/delivery.py), and as an
XNACK in a carrier, which has the time in place of the delay: `DUE ms`.
"""

from __future__ import annotations

from commands.core.arguments import Arguments, parse_int
from commands.core.client import Client
from commands.core.gates import GATE_OUT_OF_MEMORY
from commands.core.registry import FAST, READONLY, WRITE, command, one_key
from commands.streams.groups.delivery import group_changed, propagate_release
from commands.streams.ids import parse_all, parse_strict, without_repeats
from commands.streams.lookup import find_group
from commands.streams.policies.dead_letters import FAILED, FATAL, bury
from commands.streams.policies.timer import note
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.request import Request
from storage.entries.entry_id import EntryID
from storage.groups.group import MAX_DELIVERIES, RELEASED_MS, Group
from storage.groups.pending_block import Row
from storage.policies.stream_policy import StreamPolicy
from storage.stream import Stream

MAX_REASON_BYTES = 512
MAX_DELAY_MS = 10**12


@record
class Release:
    """The arguments of XNACK after the group."""

    mode: bytes
    ids: list[EntryID]
    retry_count: int | None = None
    force: bool = False
    delay_ms: int | None = None
    due_ms: int = 0  # of a replayed release
    reason: bytes | None = None

    def count(self, deliveries: int) -> int:
        """The delivery count of an entry that is released, from the one that it had."""
        if self.retry_count is not None:
            return self.retry_count
        if self.mode == b"FATAL":
            return MAX_DELIVERIES
        return deliveries if self.mode == b"FAIL" else max(deliveries - 1, 0)


@command("XNACK", arity=-7, flags=WRITE | FAST, keys=one_key(b"RW", b"UPDATE"))
def xnack(client: Client, argv: Request) -> bytes:
    """Integer: the number of entries that were released. Source: Redis 8.8; DELAY and REASON are
    Rillway's own.
    """
    key = argv[1]
    stream, group = find_group(client, key, argv[2])
    release = _parse(client, argv)
    released = sum(
        _release(client, key, stream, group, release, ids) for ids in without_repeats(release.ids)
    )
    if released:
        group_changed(client, key, released)
        client.signal_key_as_ready(key)
        if group.policy is not None:
            group.end_policy()
            note(client, key, stream)
    return replies.integer(released)


def _release(
    client: Client,
    key: bytes,
    stream: Stream,
    group: Group,
    release: Release,
    ids: list[EntryID],
) -> int:
    """Release different entries; how many were pending, or are by force."""
    rows: list[Row] = []
    for entry_id, row in zip(ids, group.pending.rows_of(ids), strict=True):
        if row is not None:
            rows.append(row)
        elif release.force and entry_id in stream:
            group.add(entry_id, None, RELEASED_MS, 0)
            rows.append((entry_id, None, RELEASED_MS, 0))
    if not rows:
        return 0
    if release.delay_ms is not None or release.due_ms or release.reason is not None:
        if stream.policy is None:
            stream.policy = StreamPolicy()
        group.make_policy()
    if group.policy is not None:
        group.policy.set_reason([row[0] for row in rows], release.reason)
    kept = rows
    if not client.replays:
        kept = [row for row in rows if not _is_buried(client, key, stream, group, release, row)]
    _put_back(client, key, stream, group, release, kept)
    return len(rows)


def _is_buried(
    client: Client, key: bytes, stream: Stream, group: Group, release: Release, row: Row
) -> bool:
    """Move an entry to the dead letters, if that is where it belongs."""
    policy, now_ms = group.policy, client.instance.now_ms
    if policy is None or not policy.options.dead_letter:
        return False
    if release.mode == b"FATAL":
        return bury(client, key, stream, group, row, FATAL, now_ms)
    if release.mode == b"FAIL" and policy.due.is_exhausted(release.count(row[3])):
        return bury(client, key, stream, group, row, FAILED, now_ms)
    return False


def _put_back(
    client: Client, key: bytes, stream: Stream, group: Group, release: Release, rows: list[Row]
) -> None:
    """Release entries for other consumers."""
    if not rows:
        return
    counts = [min(release.count(row[3]), MAX_DELIVERIES) for row in rows]
    dues_ms = [_due_ms(client, group, release, count) for count in counts]
    group.release_all(rows, counts, dues_ms)
    if client.instance.propagation.sinks:
        ids = [row[0] for row in rows]
        propagate_release(client, key, stream, group, ids, counts, dues_ms, release.reason)


def _due_ms(client: Client, group: Group, release: Release, deliveries: int) -> int:
    """When a released entry may be delivered or claimed; 0: at once."""
    policy, now_ms = group.policy, client.instance.now_ms
    if policy is None or client.replays:
        return release.due_ms
    options = policy.options
    if release.mode != b"SILENT" and policy.due.is_exhausted(deliveries):
        # It could not become a dead letter.
        return now_ms + options.ack_wait_ms
    if release.delay_ms is not None:
        return now_ms + release.delay_ms
    if not options.ack_wait_ms:
        return 0
    return now_ms + options.pause_ms(1 if release.mode == b"SILENT" else deliveries)


def _parse(client: Client, argv: Request) -> Release:
    """Raises ReplyError. The options follow the IDs, in any order; Redis's are checked first."""
    arguments = Arguments(argv, 3)
    mode = arguments.next_keyword()
    if mode not in (b"SILENT", b"FAIL", b"FATAL"):
        raise ReplyError(errors.XNACK_MODE)
    if not arguments.take(b"IDS"):
        raise ReplyError(errors.XNACK_WITHOUT_IDS)
    number = arguments.next_int(errors.XNACK_NUMBER, 1)
    if number > arguments.remaining:
        raise ReplyError(errors.XNACK_NUMBER_MISMATCH)
    texts = [arguments.next() for _ in range(number)]
    release = Release(mode, [])
    own: list[tuple[bytes, bytes]] = []
    while arguments:
        word = arguments.next()
        option = word.upper()
        if option == b"FORCE":
            release.force = True
        elif option == b"RETRYCOUNT" and arguments:
            release.retry_count = arguments.next_int(errors.XNACK_RETRYCOUNT, 0)
        elif arguments and (option in (b"DELAY", b"REASON") or (client.replays and word == b"DUE")):
            own.append((option, arguments.next()))
        else:
            raise errors.unrecognized_xnack_option(word)
    release.ids = parse_all(texts)
    for option, text in own:
        _set_own(release, option, text)
    is_full = client.instance.gates & GATE_OUT_OF_MEMORY and not client.replays
    if is_full and release.reason is not None:
        raise ReplyError(errors.OUT_OF_MEMORY)
    return release


def _set_own(release: Release, option: bytes, text: bytes) -> None:
    """Set an option of Rillway's own. Raises ReplyError."""
    if option == b"REASON":
        if release.reason is not None:
            raise errors.specified_twice(option)
        if len(text) > MAX_REASON_BYTES:
            raise ReplyError(errors.XNACK_REASON_LENGTH)
        release.reason = text
    elif option == b"DUE":
        release.due_ms = parse_int(text)
    else:
        if release.delay_ms is not None:
            raise errors.specified_twice(option)
        release.delay_ms = parse_int(text, errors.XNACK_DELAY)
        if not 0 <= release.delay_ms <= MAX_DELAY_MS:
            raise ReplyError(errors.XNACK_DELAY)
        if release.mode == b"FATAL":
            raise ReplyError(errors.XNACK_DELAY_FATAL)


@command("XREASON", arity=4, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def xreason(client: Client, argv: Request) -> bytes:
    """The text that XNACK gave as the reason for a pending entry, or nil. Rillway's own."""
    entry_id = parse_strict(argv[3])
    _, group = find_group(client, argv[1], argv[2])
    reason = None if group.policy is None else group.policy.reasons.get(entry_id)
    return replies.NIL[client.resp] if reason is None else replies.bulk(reason)
