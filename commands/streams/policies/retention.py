"""Which entries a stream keeps: XCFGSET key RETAIN-MS ... Rillway's own.

Limits by age, number and bytes determine which entries may go (storage/policies/surplus.py); with
ACKED, groups determine which must stay. Whole nodes at the head go soon after an append; the first
remaining node is cut at most once a second. Each step is an `XTRIM key MINID = id` in the file, for
replicas and in keyspace events. Where groups lose pending entries (DELREF), XACKs are part of the
same unit, since Redis before 8.2 has no DELREF.

ACKED keeps entries that a living group has not acknowledged. A group lives as long as it exists;
with GROUP-MAX-IDLE, as long as it is used: a consumer was seen within that time or waits in
XREADGROUP, or the server has known the group for less than that. Without a living group nothing
goes by age, number or bytes. The marker of an archive always lives, and the last archived entry is
never removed, not even by RETAIN-HARD-BYTES.

The age of an entry is that of its ID. IDs that are no times are refused (`RETAIN-MS requires IDs
that are timestamps`); if they come later, they are never too old. After a jump of the clock no
entry is too old for a while.
"""

from __future__ import annotations

from commands.core.arguments import parse_int
from commands.core.blocked_clients import BlockedClients
from commands.core.client import Client
from commands.streams.groups.delivery import group_changed
from commands.streams.lookup import report_damage
from commands.streams.policies.carrier import propagate_row
from commands.streams.policies.report import STREAM_FIELDS, Fields
from commands.streams.policies.timer import FEATURES, PolicyTimer, Turn
from commands.streams.trim import Trim, serve_waiters_first, trimmed
from protocol import errors
from protocol.errors import ReplyError
from storage.entries.entry_id import MAX_ID, MIN_ID, EntryID, id_ms
from storage.groups.group import Group, References
from storage.nodes.listpack_node import DamagedNode
from storage.policies.content_bytes import ContentBytes
from storage.policies.retention import NUMBERS, Retention
from storage.policies.stream_policy import StreamPolicy
from storage.policies.surplus import (
    MARKER_PREFIX,
    Surplus,
    age_bound,
    archive_floor,
    group_floor,
    has_times,
)
from storage.stream import Stream

# How often a stream that grows is checked: a check takes as long as some XADDs.
LOOK_EVERY_MS = 10
# How often the first node is cut.
CUT_EVERY_MS = 1000
# When groups that keep entries, or damage, are checked again if no event comes first.
HELD_MS = 10_000

# The values of the options that are words.
WORDS = {
    b"RETAIN-REFS": (b"KEEPREF", b"DELREF", b"ACKED"),
    b"RETAIN-ACKED": (b"yes", b"no"),
}
OPTIONS = NUMBERS.keys() | WORDS.keys()


# -- settings ----------------------------------------------------------------------------------


def parse_option(option: bytes, text: bytes) -> bytes:
    """The value of an option, as it is stored. Raises ReplyError."""
    if option in NUMBERS:
        greatest = NUMBERS[option][1]
        number = parse_int(text)
        if not 0 <= number <= greatest:
            raise errors.out_of_bounds(option, 0, greatest)
        return b"%d" % number
    word = text.upper() if option == b"RETAIN-REFS" else text.lower()
    if word not in WORDS[option]:
        raise ReplyError(b"ERR %b must be one of %b" % (option, b", ".join(WORDS[option])))
    return word


def retention_of(stream: Stream) -> Retention | None:
    return None if stream.policy is None else stream.policy.retention


def changed_retention(stream: Stream, settings: dict[bytes, bytes]) -> Retention:
    """The stream's retention after a change of settings. Raises ReplyError."""
    known = retention_of(stream)
    changed = Retention() if known is None else known.copy()
    changed.change(settings)
    if 0 < changed.hard_bytes < changed.max_bytes:
        raise ReplyError(errors.RETAIN_HARD_BYTES_LOW)
    if changed.group_idle_ms and not changed.asks_groups:
        raise ReplyError(errors.GROUP_IDLE_WITHOUT_ACKED)
    if b"RETAIN-MS" in settings and changed.max_age_ms and not has_times(stream):
        raise ReplyError(errors.RETAIN_MS_NEEDS_TIMES)
    return changed


def set_retention(client: Client, key: bytes, stream: Stream, retention: Retention) -> None:
    """Give a stream a retention, and propagate it."""
    policy = stream.policy or StreamPolicy()
    known = policy.retention
    if known is not None:
        retention.count_from(known.counters())
        retention.content = known.content if retention.counts_bytes else None
    elif not retention.is_set:
        return
    if known is not None and known.settings() == retention.settings():
        return
    policy.retention = retention if retention.is_set else None
    stream.policy = policy
    group_changed(client, key)
    propagate_row(client, key, b"retain", *retention.settings_row())
    client.instance.feature(PolicyTimer).hasten(client.db.index, key)


def appended(client: Client, key: bytes, stream: Stream) -> None:
    """An entry was appended to a stream with policies."""
    retention = retention_of(stream)
    if retention is not None:
        _look_soon(client, key, retention)


def acknowledged(client: Client, key: bytes, stream: Stream) -> None:
    """A group of a stream with policies may need less of it than before."""
    retention = retention_of(stream)
    if retention is not None and retention.asks_groups:
        _look_soon(client, key, retention)


def _look_soon(client: Client, key: bytes, retention: Retention) -> None:
    due_ms = retention.looked_ms + LOOK_EVERY_MS
    client.instance.feature(PolicyTimer).look_by(client.db.index, key, due_ms)


# -- what goes ---------------------------------------------------------------------------------


class RetentionWork:
    """The feature of the policies' timer."""

    def due_ms(self, timer: PolicyTimer, stream: Stream) -> int | None:
        """When the first entry is too old, or now if there is too much."""
        retention = retention_of(stream)
        if retention is None or not stream.length:
            return None
        times: list[int] = []
        if retention.max_age_ms and has_times(stream):
            too_old_ms = id_ms(stream.first_id) + retention.max_age_ms
            times.append(max(too_old_ms, timer.unsteady_until_ms))
        content = retention.content
        if (
            0 < retention.max_length < stream.length
            or (retention.counts_bytes and (content is None or not content.is_whole))
            or (content is not None and _exceeds(retention, content.total))
        ):
            times.append(timer.now_ms)
        if retention.removes_acked and retention.rest_until_ms:
            times.append(retention.rest_until_ms)
        return max(min(times), retention.rest_until_ms) if times else None

    def work(self, turn: Turn, key: bytes, stream: Stream) -> None:
        """Remove what exceeds the limits, step by step."""
        retention = retention_of(stream)
        if retention is None:
            return
        retention.looked_ms = turn.now_ms
        try:
            while stream.length and not turn.is_over():
                if not _take_step(turn, key, stream, retention):
                    return
        except DamagedNode as error:
            report_damage(turn.client, error, [key])
            retention.rest_until_ms = turn.now_ms + HELD_MS


def _exceeds(retention: Retention, total: int) -> bool:
    limits = (retention.max_bytes, retention.hard_bytes)
    return any(0 < limit < total for limit in limits)


def _take_step(turn: Turn, key: bytes, stream: Stream, retention: Retention) -> bool:
    """Remove some entries. Returns False if no more can go now."""
    content = None
    if retention.counts_bytes:
        if not isinstance(retention.content, ContentBytes):
            retention.content = ContentBytes()
        content = retention.content
        if not content.count(stream, turn.now_ms, turn.is_over):
            return False
    plan = _Plan(turn, key, stream, retention, content)
    bound = plan.bound(exact=False)
    if bound <= stream.first_id and plan.wants_more:
        since_ms = turn.now_ms - retention.cut_ms
        if since_ms >= CUT_EVERY_MS:
            bound = plan.bound(exact=True)
            retention.cut_ms = turn.now_ms
        else:
            retention.rest_until_ms = retention.cut_ms + CUT_EVERY_MS
            return False
    if bound <= stream.first_id:
        retention.rest_until_ms = turn.now_ms + HELD_MS if plan.wants_more else 0
        return False
    removed = _trim(turn.client, key, stream, retention, bound, plan.passed_over)
    turn.timer.counts.retention_removed += removed
    if not removed:  # by damage
        retention.rest_until_ms = turn.now_ms + HELD_MS
    return bool(removed)


class _Plan:
    """The bounds of what may go of a stream at this moment."""

    def __init__(
        self,
        turn: Turn,
        key: bytes,
        stream: Stream,
        retention: Retention,
        content: ContentBytes | None,
    ) -> None:
        self._retention = retention
        old = MIN_ID
        if retention.max_age_ms and has_times(stream) and turn.timer.is_steady:
            old = age_bound(turn.now_ms, retention.max_age_ms)
        self._surplus = Surplus(stream, retention, content, old)
        self._groups_floor = MIN_ID
        self.passed_over: list[Group] = []
        if retention.asks_groups:
            groups = stream.groups.values()
            living = [each for each in groups if _lives(turn, key, retention, each)]
            floors = [group_floor(stream, group) for group in living]
            self._groups_floor = min(floors, default=MIN_ID)
            self.passed_over = [group for group in groups if group not in living]
        self._archive_floor = archive_floor(stream)
        self.wants_more = (
            self._surplus.exists()
            or self._surplus.is_hard()
            or (retention.removes_acked and stream.first_id < self._groups_floor)
        )

    def bound(self, *, exact: bool) -> EntryID:
        """All below may go now; see storage/policies/surplus.py for `exact`."""
        surplus, retention = self._surplus, self._retention
        bound = surplus.bound(exact=exact) if surplus.exists() else MIN_ID
        if retention.respects_groups:
            bound = min(bound, self._groups_floor)
        if retention.removes_acked:
            bound = max(bound, self._groups_floor)
        if surplus.is_hard():
            bound = max(bound, surplus.hard_bound(exact=exact))
        return surplus.up_to(min(bound, self._archive_floor), exact=exact)


def _lives(turn: Turn, key: bytes, retention: Retention, group: Group) -> bool:
    """Return True if the group keeps what it has not acknowledged."""
    idle_ms = retention.group_idle_ms
    if not idle_ms or group.name.startswith(MARKER_PREFIX):
        return True
    since_ms = turn.now_ms - idle_ms
    if retention.seen_groups.setdefault(group.name, turn.now_ms) > since_ms:
        return True
    if any(consumer.seen_ms > since_ms for consumer in group.consumers.values()):
        return True
    blocked = turn.client.instance.feature(BlockedClients)
    waiting = blocked.waiters.get((turn.client.db.index, key), ())
    requests = (blocked.clients[client].argv for client in waiting)
    return any(argv[0].upper() == b"XREADGROUP" and argv[2] == group.name for argv in requests)


def _trim(
    client: Client,
    key: bytes,
    stream: Stream,
    retention: Retention,
    bound: EntryID,
    passed_over: list[Group],
) -> int:
    """Remove the entries below an ID; the number removed."""
    serve_waiters_first(client, key)
    _count_passed_over(client, key, stream, retention, bound, passed_over)
    deletes = retention.references is References.DELETE
    is_all = bound > MAX_ID  # which is no ID
    trim = Trim(
        by_length=is_all,
        threshold=0 if is_all else bound,
        approximate=False,
        limit=0,
        threshold_position=4,
        limit_positions=[],
        references=References.DELETE if deletes else References.KEEP,
    )
    removed = trim.apply(stream, client)
    retention.removed += removed
    if trimmed(client, key, trim, removed):
        trim.propagate(client, key, stream)
    return removed


def _count_passed_over(
    client: Client,
    key: bytes,
    stream: Stream,
    retention: Retention,
    bound: EntryID,
    passed_over: list[Group],
) -> None:
    """Count the losses of groups that are not living, and log them once for each group."""
    retention.passed_over &= {group.name for group in passed_over}
    for group in passed_over:
        unread = max(group.last_delivered_id + 1, stream.first_id)
        lost = stream.ids(unread, bound - 1).count if unread < bound else 0
        if lost:
            retention.unread_trimmed += lost
            if group.name not in retention.passed_over:
                retention.passed_over.add(group.name)
                retention.groups_passed_over += 1
                instance = client.instance
                instance.host.log(
                    "warning",
                    f"Stream '{instance.shown(key)}': group '{instance.shown(group.name)}' has not"
                    " been used for GROUP-MAX-IDLE, and loses entries that it has not read",
                )


# -- to see it ---------------------------------------------------------------------------------


def _fields(client: Client, key: bytes, stream: Stream) -> Fields:
    retention = retention_of(stream)
    if retention is not None:
        for option, text in retention.settings().items():
            yield option.decode().lower(), int(text) if text.isdigit() else text
        if retention.content is not None and retention.content.is_whole:
            yield "bytes", retention.content.total
        yield "retained-removed", retention.removed
        yield "groups-passed-over", retention.groups_passed_over
        yield "unread-trimmed", retention.unread_trimmed


FEATURES.append(RetentionWork())
STREAM_FIELDS.append(_fields)
