"""XGROUP CONFIG: the delivery policy of a group. Rillway's own.

    XGROUP CONFIG key group [ACK-WAIT ms] [BACKOFF ms [ms ...]] [MAX-DELIVERIES n]
        [DEAD-LETTER key] [MAX-PENDING n] [CONSUMER-EXPIRY ms] [KEY-FIELD name]
        [KEY-LOOKAHEAD n] [KEY-LOOKAHEAD-KEY n]

All of the options that are named change, or none does; 0 or an empty word switches an option off.
What the options mean: storage/policies/due_entries.py. The user who names a key for dead letters
is remembered: the server writes there only as long as that user may
(commands/streams/policies/dead_letters.py).

Options are parsed before the key is looked up, so that clients can find out what a server knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from commands.core.arguments import Arguments, parse_int
from commands.core.client import Client
from commands.core.registry import DENYOOM, MOVABLE_KEYS, WRITE, KeySpec, command
from commands.streams.groups.delivery import group_changed
from commands.streams.groups.key_turn import open_keys
from commands.streams.lookup import group_of
from commands.streams.policies.carrier import propagate_row
from commands.streams.policies.group_deliveries import look
from commands.streams.policies.report import GROUP_FIELDS, Fields
from commands.streams.policies.timer import PolicyTimer, note
from protocol import errors
from protocol.errors import ReplyError
from protocol.replies import OK
from protocol.request import Request
from storage.entries.entry_id import MIN_ID
from storage.groups.group import Group
from storage.groups.pending_block import Row
from storage.policies.due_entries import NEVER_MS, DeliveryOptions
from storage.policies.group_policy import GroupPolicy
from storage.policies.group_rows import group_row
from storage.policies.key_order import KeyOrder
from storage.policies.stream_policy import StreamPolicy
from storage.stream import Stream

MAX_MS = 10**12
MOST_PAUSES = 32
# XINFO POLICY checks at most this many pending entries one by one: a millisecond or two.
MANY_PENDING = 1000
# The options that are one number: the attribute, and the greatest value.
NUMBERS = {
    b"ACK-WAIT": ("ack_wait_ms", MAX_MS),
    b"MAX-DELIVERIES": ("max_deliveries", 10**9),
    b"MAX-PENDING": ("max_pending", 2**31),
    b"CONSUMER-EXPIRY": ("consumer_expiry_ms", MAX_MS),
    b"KEY-LOOKAHEAD": ("key_lookahead", 10**6),
    b"KEY-LOOKAHEAD-KEY": ("key_lookahead_of_key", 10**6),
}
# Options that are one word.
WORDS = {b"DEAD-LETTER": "dead_letter", b"KEY-FIELD": "key_field"}
MAX_KEY_FIELD_BYTES = 512


def _is_number(word: bytes) -> bool:
    return word.removeprefix(b"-").isdigit()


def _dead_letter_positions(argv: Sequence[bytes]) -> list[int]:
    """The key of the dead letters: users need the right to write there."""
    found: list[int] = []
    position = 4
    while position < len(argv) - 1:
        option = argv[position].upper()
        if option == b"DEAD-LETTER" and argv[position + 1]:
            found.append(position + 1)
        position += 2
        if option == b"BACKOFF":
            while position < len(argv) and _is_number(argv[position]):
                position += 1
    return found


_SET = KeySpec(begin=2, flags=(b"RW", b"UPDATE"))
_LETTERS = KeySpec(flags=(b"RW", b"INSERT"), is_unknown=True, find=_dead_letter_positions)


@command("XGROUP CONFIG", arity=-6, flags=WRITE | DENYOOM | MOVABLE_KEYS, keys=(_SET, _LETTERS))
def xgroup_config(client: Client, argv: Request) -> bytes:
    """OK. Rillway's own."""
    changes = _parse(argv)
    key = argv[2]
    stream: Stream | None = client.lookup_stream_for_write(key)
    if stream is None:
        raise ReplyError(errors.XGROUP_NO_KEY)
    group = group_of(stream, key, argv[3])
    options = DeliveryOptions() if group.policy is None else group.policy.options
    if "dead_letter" in changes:
        changes["dead_letter_user"] = client.user if changes["dead_letter"] else b""
    former, options = options, replace(options, **changes)
    _check(key, options)
    if options.key_field != former.key_field and len(group.pending):
        raise ReplyError(errors.CONFIG_KEY_CHANGE)
    configure(stream, group, options)
    client.propagate_nothing()
    propagate_row(client, key, *group_row(group))
    group_changed(client, key)
    note(client, key, stream)
    client.signal_key_as_ready(key)  # waiting readers may now find room, or a due entry
    return OK


def configure(stream: Stream, group: Group, options: DeliveryOptions) -> None:
    """Give a group its options."""
    if stream.policy is None:
        stream.policy = StreamPolicy()
    group.make_policy().configure(options)
    group.end_policy()


def _check(key: bytes, options: DeliveryOptions) -> None:
    """Raise ReplyError for options that need others."""
    needs_wait = options.backoff_ms or options.max_deliveries or options.key_field
    if needs_wait and not options.ack_wait_ms:
        raise ReplyError(errors.CONFIG_NEEDS_ACK_WAIT)
    if (options.key_lookahead or options.key_lookahead_of_key) and not options.key_field:
        raise ReplyError(errors.CONFIG_NEEDS_KEY_FIELD)
    if len(options.key_field) > MAX_KEY_FIELD_BYTES:
        raise ReplyError(errors.CONFIG_KEY_TOO_LONG)
    if bool(options.max_deliveries) is not bool(options.dead_letter):
        raise ReplyError(errors.CONFIG_DEAD_LETTER_ALONE)
    if options.dead_letter == key:
        raise ReplyError(errors.CONFIG_DEAD_LETTER_IS_SELF)
    if 0 < options.consumer_expiry_ms <= options.ack_wait_ms:
        raise ReplyError(errors.CONFIG_EXPIRY_TOO_SHORT)


def _parse(argv: Request) -> dict[str, Any]:
    """The options that a request names, by attribute. Raises ReplyError."""
    changes: dict[str, Any] = {}
    arguments = Arguments(argv, 4)
    while arguments:
        option = arguments.next_keyword()
        if not arguments:
            raise ReplyError(errors.SYNTAX)
        if option in NUMBERS:
            name, maximum = NUMBERS[option]
            value: Any = _number(option, arguments.next(), 1, maximum)
        elif option == b"BACKOFF":
            name, value = "backoff_ms", _pauses(arguments)
        elif option in WORDS:
            name, value = WORDS[option], arguments.next()
        else:
            raise ReplyError(errors.SYNTAX)
        if name in changes:
            raise errors.specified_twice(option)
        changes[name] = value
    return changes


def _number(option: bytes, word: bytes, minimum: int, maximum: int) -> int:
    number = parse_int(word) if word else 0
    if number and not minimum <= number <= maximum:
        raise errors.out_of_bounds(option, minimum, maximum)
    return number


def _pauses(arguments: Arguments) -> tuple[int, ...]:
    """The pauses up to the first word that is no number; none where all are 0."""
    pauses = [_number(b"BACKOFF", arguments.next(), 0, MAX_MS)]
    while arguments and _is_number(arguments.peek()):
        pauses.append(_number(b"BACKOFF", arguments.next(), 0, MAX_MS))
    if len(pauses) > MOST_PAUSES:
        raise ReplyError(errors.CONFIG_MANY_PAUSES)
    return tuple(pauses) if any(pauses) else ()


# -- XINFO POLICY ------------------------------------------------------------------------------


def _fields(client: Client, key: bytes, stream: Stream, group: Group) -> Fields:
    policy = group.policy
    if policy is None:
        return
    options = policy.options
    yield "ack-wait", options.ack_wait_ms
    yield "backoff", list(options.backoff_ms)
    yield "max-deliveries", options.max_deliveries
    yield "dead-letter", options.dead_letter
    yield "max-pending", options.max_pending
    yield "consumer-expiry", options.consumer_expiry_ms
    keys = policy.keys
    if keys is not None:
        if len(group.pending) <= MANY_PENDING:
            open_keys(stream, group)
        yield "key-field", options.key_field
        yield "key-lookahead", keys.lookahead
        yield "key-lookahead-key", keys.most_of_key
    yield from _state(client, stream, group, policy)
    if keys is not None:
        yield from _key_state(keys)
    yield "redelivered", policy.redelivered
    yield "dead-lettered", policy.dead_lettered
    yield "dead-letter-failures", policy.dead_letter_failures
    yield "ghosts-dropped", policy.ghosts_dropped
    yield "consumers-expired", policy.consumers_expired


def _state(client: Client, stream: Stream, group: Group, policy: GroupPolicy) -> Fields:
    """The state of the pending entries. Of very many, a sample is counted."""
    now_ms, due, pending = client.instance.now_ms, policy.due, group.pending
    reserved = () if policy.keys is None else policy.keys.reserved
    in_flight = group.in_flight_count
    before_deadline: int | None = None
    in_pause: int | None = None
    if len(pending) <= MANY_PENDING:
        rows = [row for row in pending.rows_from(MIN_ID) if row[0] not in reserved]
        there = set(stream.existing([row[0] for row in rows]))
        in_flight = sum(row[1] is not None and row[0] in there for row in rows)
        times = [_due_ms(policy, row) for row in rows if due.may_fall_due(row)]
        is_due, next_ms = sum(time <= now_ms for time in times), min(times, default=None)
        waits = [_wait(policy, row, now_ms) for row in rows if row[0] in there]
        before_deadline, in_pause = waits.count("deadline"), waits.count("pause")
    else:
        look(client.instance.feature(PolicyTimer), policy, now_ms)
        is_due, in_pause, overtime = due.census(now_ms)
        soonest_ms = due.next_due_ms(has_room=True)
        next_ms = None if soonest_ms >= NEVER_MS else soonest_ms
        before_deadline = max(in_flight - overtime, 0) if policy.options.ack_wait_ms else 0
    yield "in-flight", in_flight
    yield "due", is_due
    yield "released", group.nacked_count
    yield "before-deadline", before_deadline
    yield "in-pause", in_pause
    yield "next-due", next_ms
    yield "reasons", len(policy.reasons)
    yield "held", int(0 < policy.options.max_pending <= in_flight)


def _wait(policy: GroupPolicy, row: Row, now_ms: int) -> str:
    """What a pending entry waits for, unless it is due."""
    due = policy.due
    if row[1] is None:
        return "pause" if due.delay_ms(row[0]) > now_ms else ""
    if not policy.options.ack_wait_ms:
        return ""
    if due.deadline_ms(row) > now_ms:
        return "deadline"
    return "pause" if _due_ms(policy, row) > now_ms else ""


def _due_ms(policy: GroupPolicy, row: Row) -> int:
    """When a read gives an entry: after a start, no deadline is over at once."""
    due_ms = policy.due.due_ms(row)
    return due_ms if row[1] is None else max(due_ms, policy.due.not_before_ms)


def _key_state(keys: KeyOrder) -> Fields:
    yield "reserved", len(keys.reserved)
    yield "keys-locked", len(keys.locks) if keys.is_open else None
    yield "key-held", int(not keys.has_room)
    yield "keys-passed", len(keys.passed)
    longest = keys.longest() if keys.reserved else None
    if longest is not None:
        yield "longest-key", longest[0]
        yield "longest-key-waiting", longest[1]


GROUP_FIELDS.append(_fields)
