"""The policies of groups as rows of words (storage/policies/rows.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice

from storage.entries.entry_id import EntryID, format_id, parse_id
from storage.groups.group import Group
from storage.policies.due_entries import DeliveryOptions
from storage.policies.group_policy import GroupPolicy
from storage.policies.key_order import KeyOrder
from storage.policies.stream_policy import StreamPolicy
from storage.stream import Stream

Row = list[bytes]

# The kind of the rows with what a group has counted.
COUNTERS = b"deliveries"

# The number of entries in a row: of delays, and of reasons, which may have 512 bytes.
_DELAYS_PER_ROW = 500
_REASONS_PER_ROW = 50


def group_row(group: Group) -> Row:
    """All options of a group."""
    options = DeliveryOptions() if group.policy is None else group.policy.options
    return [b"group", group.name, options.dead_letter_user, *options.words()]


def rows(stream: Stream, policy: StreamPolicy) -> Iterator[Row]:
    for group in stream.groups.values():
        if group.policy is None:
            continue
        yield group_row(group)
        delays = ((entry_id, b"%d" % due_ms) for entry_id, due_ms in group.policy.due.delays())
        yield from _pairs(b"delays", group, delays, _DELAYS_PER_ROW)
        yield from _pairs(b"reasons", group, sorted(group.policy.reasons.items()), _REASONS_PER_ROW)
        if group.policy.keys is not None:
            yield from _key_rows(group, group.policy.keys)
        if any(counters := group.policy.counters()):
            yield [COUNTERS, group.name, *(b"%d" % number for number in counters)]


def reserved_rows(group: Group, ids: Iterable[EntryID]) -> Iterator[Row]:
    """Reserved entries."""
    rest = iter(ids)
    while some := list(islice(rest, _DELAYS_PER_ROW)):
        yield [b"reserved", group.name, *map(format_id, some)]


def ahead_row(group: Group, ahead: EntryID) -> Row:
    """Up to where entries were looked at, beyond the position of the group."""
    return [b"ahead", group.name, format_id(ahead)]


def passed_row(group: Group, key: bytes, start: EntryID) -> Row:
    """A key that was passed over, and from where; MIN_ID: it is no more."""
    return [b"passed", group.name, key, format_id(start)]


def _key_rows(group: Group, keys: KeyOrder) -> Iterator[Row]:
    yield from reserved_rows(group, sorted(keys.reserved))
    if keys.passed:
        yield ahead_row(group, keys.ahead)
        for key, start in sorted(keys.passed.items()):
            yield passed_row(group, key, start)


def _pairs(
    kind: bytes, group: Group, pairs: Iterable[tuple[EntryID, bytes]], number: int
) -> Iterator[Row]:
    rest = iter(pairs)
    while some := list(islice(rest, number)):
        words = [(format_id(entry_id), word) for entry_id, word in some]
        yield [kind, group.name, *chain.from_iterable(words)]


def _group_policy(stream: Stream, name: bytes) -> GroupPolicy:
    group = stream.groups.get(name)
    if group is None:
        raise ValueError(f"there is no group {name[:64]!r}")
    return group.make_policy()


def _restore_group(stream: Stream, policy: StreamPolicy, words: Row) -> None:
    name, user, *options = words
    _group_policy(stream, name).configure(DeliveryOptions.from_words(user, options))
    stream.groups[name].end_policy()


def _restore_delays(stream: Stream, policy: StreamPolicy, words: Row) -> None:
    restored = _group_policy(stream, words[0])
    for text, due in _in_pairs(words):
        restored.set_delay(_entry_id(text), int(due))


def _restore_reasons(stream: Stream, policy: StreamPolicy, words: Row) -> None:
    restored = _group_policy(stream, words[0])
    for text, reason in _in_pairs(words):
        restored.set_reason([_entry_id(text)], reason)


def _keys(stream: Stream, words: Row) -> KeyOrder:
    keys = _group_policy(stream, words[0]).keys
    if keys is None:
        raise ValueError(f"the group {words[0][:64]!r} has no KEY-FIELD")
    return keys


def _restore_reserved(stream: Stream, policy: StreamPolicy, words: Row) -> None:
    _keys(stream, words).mark(list(map(_entry_id, words[1:])))


def _restore_ahead(stream: Stream, policy: StreamPolicy, words: Row) -> None:
    _keys(stream, words).set_position(_entry_id(words[1]))


def _restore_passed(stream: Stream, policy: StreamPolicy, words: Row) -> None:
    _keys(stream, words).pass_over(words[1], _entry_id(words[2]))


def _restore_deliveries(stream: Stream, policy: StreamPolicy, words: Row) -> None:
    _group_policy(stream, words[0]).count_from(map(int, words[1:]))


def _entry_id(text: bytes) -> EntryID:
    entry_id = parse_id(text)
    if entry_id is None:
        raise ValueError(f"{text[:64]!r} is no ID")
    return entry_id


def _in_pairs(words: Row) -> Iterator[tuple[bytes, bytes]]:
    return zip(words[1::2], words[2::2], strict=True)


RESTORERS: dict[bytes, Callable[[Stream, StreamPolicy, Row], object]] = {
    b"group": _restore_group,
    b"delays": _restore_delays,
    b"reasons": _restore_reasons,
    b"reserved": _restore_reserved,
    b"ahead": _restore_ahead,
    b"passed": _restore_passed,
    COUNTERS: _restore_deliveries,
}
