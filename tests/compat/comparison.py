"""Compares two servers' replies byte for byte, except for parts that cannot be equal.

`expected` turns Redis's reply into what Rillway must send: the same bytes, except that a time may
be a little off, a generated ID has another time in it, and unordered replies are sorted. Known
differences between Redis 8.2 and 8.10 are applied on top (differences.py). `first_mismatch` walks a
whole sequence and looks into EXEC's reply as if its commands had been sent alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

from storage.digest import value_digest
from storage.entries.entry import decode_fields
from storage.entries.entry_id import MAX_ID, MIN_ID, EntryID, format_id
from storage.redis_format.primitives import CorruptSnapshot
from storage.snapshot.payload import BadChecksum, restore
from storage.stream import Stream
from storage.types.lists import ListValue
from storage.types.value import StringValue
from tests.support.resp import Reply, parse

Argv: TypeAlias = list[bytes]

TOLERANCE_MS = 2_000
TOLERANCE_SECONDS = 2
GENERATED_ID = re.compile(rb"(1[6-9]\d{11})-\d+")
QUEUED = b"+QUEUED\r\n"
NULLS = (b"_\r\n", b"$-1\r\n", b"*-1\r\n")


# --- What a reply must look like ---


@dataclass(frozen=True)
class Exactly:
    """These bytes, with these elements."""

    head: bytes
    items: tuple[Expected, ...] = ()

    def matches(self, reply: Reply) -> bool:
        return (
            self.head == reply.head
            and len(self.items) == len(reply.items)
            and all(one.matches(item) for one, item in zip(self.items, reply.items, strict=True))
        )


@dataclass(frozen=True)
class Within:
    """An integer, not negative, close to this one."""

    number: int
    tolerance: int

    def matches(self, reply: Reply) -> bool:
        return (
            reply.kind == b":"
            and reply.number >= 0
            and abs(reply.number - self.number) <= self.tolerance
        )


@dataclass(frozen=True)
class Generated:
    """An entry ID that the server made of its clock."""

    ms: int

    def matches(self, reply: Reply) -> bool:
        found = GENERATED_ID.fullmatch(reply.text)
        return (
            reply.kind == b"$"
            and found is not None
            and abs(int(found.group(1)) - self.ms) <= TOLERANCE_MS
        )


@dataclass(frozen=True)
class AnyOf:
    """Any reply of these kinds; b"_" stands for a null of either protocol."""

    kinds: tuple[bytes, ...]

    def matches(self, reply: Reply) -> bool:
        return (b"_" if reply.is_null else reply.kind) in self.kinds


@dataclass(frozen=True)
class Either:
    """One or the other."""

    choices: tuple[Expected, ...]

    def matches(self, reply: Reply) -> bool:
        return any(choice.matches(reply) for choice in self.choices)


@dataclass(frozen=True)
class Payload:
    """A payload of DUMP with the same value; times of a stream's groups do not count."""

    payload: bytes

    def matches(self, reply: Reply) -> bool:
        try:
            return reply.kind == b"$" and restored(reply.text) == restored(self.payload)
        except (BadChecksum, CorruptSnapshot):
            return False


def restored(payload: bytes) -> object:
    """What is in a payload, as data that can be compared; an ID made of the clock is any such."""
    value = restore(payload, 0)
    if isinstance(value, StringValue):
        return value.to_bytes()
    if isinstance(value, ListValue):
        return list(value)
    if not isinstance(value, Stream):
        return value_digest(value, None, 0)
    entries = [(_comparable(one), value.get(one)) for one in value.ids(MIN_ID, MAX_ID)]
    groups = {
        name: (
            _comparable(group.last_delivered_id),
            {one.name: list(map(_comparable, one.pending)) for one in group.consumers.values()},
            [(_comparable(one.entry_id), one.delivery_count) for one in group.pending.values()],
        )
        for name, group in value.groups.items()
    }
    ids = (_comparable(value.last_id), _comparable(value.max_deleted_id), value.entries_added)
    return [(one, entry and decode_fields(entry)) for one, entry in entries], ids, groups


def _comparable(entry_id: EntryID) -> bytes:
    text = format_id(entry_id)
    return text if GENERATED_ID.fullmatch(text) is None else b"generated"


Expected: TypeAlias = Exactly | Within | Generated | AnyOf | Either | Payload


def expected(argv: Argv, reply: Reply) -> Expected:
    """What a server of the same version must answer to the same command a little later."""
    name = argv[0].upper()
    whole = _same(reply)
    rule = TIME_RULES.get(name)
    return rule(argv, whole) if rule is not None and isinstance(whole, Exactly) else whole


def _same(reply: Reply) -> Expected:
    if reply.kind == b"$":
        found = GENERATED_ID.fullmatch(reply.text)
        if found is not None:
            return Generated(int(found.group(1)))
    return Exactly(reply.head, tuple(_same(item) for item in reply.items))


# --- Times ---


def near(reply: Expected, tolerance: int = TOLERANCE_MS) -> Expected:
    """The same integer, give or take; anything else, a negative integer too, stays as it is."""
    if isinstance(reply, Exactly) and reply.head[:1] == b":" and int(reply.head[1:]) >= 0:
        return Within(int(reply.head[1:]), tolerance)
    return reply


def changed_items(
    reply: Expected, change: Callable[[Expected], Expected], positions: slice = slice(None)
) -> Expected:
    """The aggregate with some of its elements changed."""
    if not isinstance(reply, Exactly):
        return reply
    items = list(reply.items)
    items[positions] = [change(item) for item in items[positions]]
    return replace(reply, items=tuple(items))


def changed_field(reply: Expected, name: bytes, change: Callable[[Expected], Expected]) -> Expected:
    """The map, flat or not, with the value of one field changed."""
    if not isinstance(reply, Exactly):
        return reply
    for position in range(0, len(reply.items) - 1, 2):
        if _is_text(reply.items[position], name):
            return changed_items(reply, change, slice(position + 1, position + 2))
    return reply


def with_field_after(reply: Expected, name: bytes, added: bytes, value: Expected) -> Expected:
    """The map, flat or not, with a field more, right after the field `name`."""
    if not isinstance(reply, Exactly):
        return reply
    for position in range(0, len(reply.items), 2):
        if _is_text(reply.items[position], name):
            key = Exactly(b"$%d\r\n%b\r\n" % (len(added), added))
            items = (*reply.items[: position + 2], key, value, *reply.items[position + 2 :])
            size = len(items) // 2 if reply.head[:1] == b"%" else len(items)
            return Exactly(b"%b%d\r\n" % (reply.head[:1], size), items)
    return reply


def _is_text(reply: Expected, text: bytes) -> bool:
    return isinstance(reply, Exactly) and reply.head == b"$%d\r\n%b\r\n" % (len(text), text)


def _pending_times(argv: Argv, reply: Exactly) -> Expected:
    if len(argv) == 3:
        return reply
    return changed_items(reply, lambda one: changed_items(one, near, slice(2, 3)))


def _info_times(argv: Argv, reply: Exactly) -> Expected:
    about = argv[1].upper() if len(argv) > 1 else b""
    if about == b"CONSUMERS":
        return changed_items(reply, lambda one: _near_fields(one, b"idle", b"inactive"))
    if about != b"STREAM":
        return reply
    wanted = changed_field(reply, b"groups", lambda groups: changed_items(groups, _group_times))
    if _holds_generated(reply):
        # The tree's shape follows from the digits of the IDs that nodes begin with.
        return changed_field(wanted, b"radix-tree-nodes", lambda nodes: AnyOf((b":",)))
    return wanted


def _holds_generated(reply: Expected) -> bool:
    return isinstance(reply, Generated) or (
        isinstance(reply, Exactly) and any(_holds_generated(item) for item in reply.items)
    )


def _group_times(group: Expected) -> Expected:
    group = changed_field(
        group,
        b"pending",
        lambda pending: changed_items(pending, lambda one: changed_items(one, near, slice(2, 3))),
    )
    return changed_field(
        group, b"consumers", lambda consumers: changed_items(consumers, _consumer_times)
    )


def _near_fields(reply: Expected, *names: bytes) -> Expected:
    for name in names:
        reply = changed_field(reply, name, near)
    return reply


def _consumer_times(consumer: Expected) -> Expected:
    return changed_field(
        _near_fields(consumer, b"seen-time", b"active-time"),
        b"pending",
        lambda pending: changed_items(pending, lambda one: changed_items(one, near, slice(1, 2))),
    )


def _object_times(argv: Argv, reply: Exactly) -> Expected:
    """No key of a sequence is idle. Redis may say otherwise of a small integer: such an object is
    shared, and was last used for another key."""
    if len(argv) > 1 and argv[1].upper() == b"IDLETIME" and reply.head[:1] == b":":
        return Within(0, TOLERANCE_SECONDS)
    return reply


def _any_members(argv: Argv, reply: Exactly) -> Expected:
    """The same number of members as Redis has chosen, whichever they are."""
    if len(argv) == 2:
        return AnyOf((b"$",)) if reply.head[:1] == b"$" and reply.head not in NULLS else reply
    return changed_items(reply, lambda one: AnyOf((b"$", b"*", b",")))


def _any_member(argv: Argv, reply: Exactly) -> Expected:
    """SPOP without a count; with one it is drawn so that it takes all of them."""
    return _any_members(argv, reply) if len(argv) == 2 else reply


def _any_key(argv: Argv, reply: Exactly) -> Expected:
    return AnyOf((b"$",)) if reply.head[:1] == b"$" and reply.head not in NULLS else reply


TIME_RULES: dict[bytes, Callable[[Argv, Exactly], Expected]] = {
    b"XPENDING": _pending_times,
    b"XINFO": _info_times,
    b"TTL": lambda argv, reply: near(reply, TOLERANCE_SECONDS),
    b"EXPIRETIME": lambda argv, reply: near(reply, TOLERANCE_SECONDS),
    b"PTTL": lambda argv, reply: near(reply),
    b"PEXPIRETIME": lambda argv, reply: near(reply),
    b"OBJECT": _object_times,
    b"RANDOMKEY": _any_key,
    b"SRANDMEMBER": _any_members,
    b"ZRANDMEMBER": _any_members,
    b"HRANDFIELD": _any_members,
    b"SPOP": _any_member,
}


# --- Whole sequences ---


@dataclass(frozen=True)
class Exchange:
    """One command, and what each server answered. `position` is the command's in the sequence."""

    position: int
    argv: Argv
    ours: Reply
    theirs: Reply


# Of these a reply can be wrong that is the same as Redis's.
JUDGED = frozenset((b"XINFO", b"OBJECT"))
Adjust: TypeAlias = Callable[[Exchange, Expected], Expected]


@dataclass(frozen=True)
class Mismatch:
    exchange: Exchange
    wanted: Expected

    def place(self) -> str:
        """The first element that differs: its position, the expected and the actual value."""
        return _place(self.wanted, self.exchange.ours, "reply")


@lru_cache(maxsize=1024)
def parsed(raw: bytes) -> Reply:
    """A reply as a tree, the same object for the same bytes: most replies are what Redis sends."""
    return parse(raw)


def first_mismatch(
    commands: list[Argv], ours: list[Reply], theirs: list[Reply], adjust: Adjust
) -> Mismatch | None:
    """The first command whose replies differ beyond `expected` and what `adjust` makes of it.

    Replies that are one object are the same bytes: see `parsed`.
    """
    for exchange in exchanges(commands, ours, theirs):
        if exchange.ours is exchange.theirs and exchange.argv[0].upper() not in JUDGED:
            continue
        wanted = expected(exchange.argv, exchange.theirs)
        if exchange.theirs.head != QUEUED:
            wanted = adjust(exchange, wanted)
        if not wanted.matches(exchange.ours):
            return Mismatch(exchange, wanted)
    return None


def _place(wanted: Expected, reply: Reply, path: str) -> str:
    if isinstance(wanted, Exactly) and wanted.head == reply.head:
        for number, (one, item) in enumerate(zip(wanted.items, reply.items, strict=False)):
            if not one.matches(item):
                return _place(one, item, f"{path}[{number}]")
    head = repr(wanted.head) if isinstance(wanted, Exactly) else repr(wanted)
    return f"{path}: wanted {head}, got {reply.head!r}"


def exchanges(commands: list[Argv], ours: list[Reply], theirs: list[Reply]) -> Iterator[Exchange]:
    """What was asked and answered, in order; EXEC's reply is taken apart, its head comes last."""
    queued: list[Argv] = []
    answers = zip(commands, ours, theirs, strict=True)
    for position, (argv, our_reply, their_reply) in enumerate(answers):
        if their_reply.head == QUEUED:
            queued.append(argv)
        elif _ends_transaction(argv, their_reply):
            transaction, queued = queued, []
            if len(our_reply.items) == len(their_reply.items) == len(transaction):
                inner = zip(transaction, our_reply.items, their_reply.items, strict=True)
                for inner_argv, our_item, their_item in inner:
                    yield _exchange(position, inner_argv, our_item, their_item)
                our_reply, their_reply = Reply(our_reply.head), Reply(their_reply.head)
        yield _exchange(position, argv, our_reply, their_reply)


def _ends_transaction(argv: Argv, reply: Reply) -> bool:
    """EXEC ran or was aborted, or DISCARD was obeyed; a misspelt one changes nothing."""
    name = argv[0].upper()
    return (name == b"EXEC" and not reply.head.startswith(b"-ERR wrong number")) or (
        name == b"DISCARD" and reply.head == b"+OK\r\n"
    )


def _exchange(position: int, argv: Argv, ours: Reply, theirs: Reply) -> Exchange:
    wanted = _sorted(argv, theirs)
    return Exchange(position, argv, wanted if ours is theirs else _sorted(argv, ours), wanted)


UNORDERED = frozenset(
    (b"KEYS", b"SMEMBERS", b"SINTER", b"SUNION", b"SDIFF", b"SPOP", b"HKEYS", b"HVALS")
)
IN_PAIRS = frozenset((b"HGETALL", b"HSCAN"))


def _sorted(argv: Argv, reply: Reply) -> Reply:
    """What comes in no promised order is compared sorted."""
    name = argv[0].upper()
    if name in UNORDERED:
        return replace(reply, items=_sorted_items(reply))
    if name == b"ZSCAN" and len(reply.items) == 2:
        cursor, words = reply.items
        pairs = zip(words.items[::2], words.items[1::2], strict=True)
        ordered = sorted(pairs, key=lambda pair: pair[0].head)
        listed = tuple(word for pair in ordered for word in pair)
        return replace(reply, items=(cursor, replace(words, items=listed)))
    if name in (b"SCAN", b"SSCAN", b"HSCAN") and len(reply.items) == 2:
        cursor, keys = reply.items
        items = _sorted_pairs(keys) if name in IN_PAIRS else _sorted_items(keys)
        return replace(reply, items=(cursor, replace(keys, items=items)))
    if name in IN_PAIRS:
        return replace(reply, items=_sorted_pairs(reply))
    return reply


def _sorted_pairs(reply: Reply) -> tuple[Reply, ...]:
    """The items two by two, in the order of the first of each."""
    pairs = sorted(
        zip(reply.items[::2], reply.items[1::2], strict=True), key=lambda pair: pair[0].head
    )
    return tuple(item for pair in pairs for item in pair)


def _sorted_items(reply: Reply) -> tuple[Reply, ...]:
    return tuple(sorted(reply.items, key=lambda item: item.head))
