"""What a server holds, read over the wire, and whether its answers contradict each other.

`ask` sends a request and returns the reply as Python values of RESP2. Every stream is looked at
through all commands that show it; what two of them tell must be the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Ask: TypeAlias = Callable[..., Any]
Window: TypeAlias = tuple[int, int]  # Unix ms, both ends included

SHARED = b"shared"
SHARED_GROUP = b"all"


@dataclass
class ObservedPending:
    consumer: bytes
    delivery_ms: int
    delivery_count: int


@dataclass
class ObservedGroup:
    last_id: int
    entries_read: int | None
    lag: int | None
    consumers: set[bytes]
    pending: dict[int, ObservedPending]
    released: list[int] = field(default_factory=list)


@dataclass
class ObservedStream:
    entries: dict[int, list[bytes]]
    last_id: int
    max_deleted_id: int
    entries_added: int
    groups: dict[bytes, ObservedGroup]
    info: dict[bytes, Any]


@dataclass
class ObservedKeys:
    """Keys of one connection. `expires`: Unix ms. `read_ms`: when it was looked."""

    read_ms: Window
    streams: dict[bytes, ObservedStream] = field(default_factory=dict)
    strings: dict[bytes, bytes] = field(default_factory=dict)
    expires: dict[bytes, int] = field(default_factory=dict)
    shared_added: list[int] = field(default_factory=list)
    shared_pending: set[int] = field(default_factory=set)


class Contradiction(Exception):
    """Two answers of one server, with nothing happening between them, that cannot both be true."""


def parse_id(text: bytes) -> int:
    ms, seq = text.split(b"-")
    return int(ms) << 64 | int(seq)


def format_id(entry_id: int) -> bytes:
    return b"%d-%d" % (entry_id >> 64, entry_id & 2**64 - 1)


def as_map(flat: list[Any]) -> dict[bytes, Any]:
    """A map of RESP2: names and values in turn."""
    return dict(zip(flat[::2], flat[1::2], strict=True))


def entries_of(reply: list[Any] | None) -> dict[int, list[bytes]]:
    return {parse_id(entry[0]): entry[1] for entry in reply or []}


def observe_stream(ask: Ask, key: bytes) -> ObservedStream:
    """One stream through XINFO, XRANGE, XLEN and XPENDING. Raises Contradiction."""
    info = as_map(ask("XINFO", "STREAM", key, "FULL", "COUNT", "0"))
    entries = entries_of(ask("XRANGE", key, "-", "+"))
    ids = list(entries)
    last_id, max_deleted_id = (
        parse_id(info[name]) for name in (b"last-generated-id", b"max-deleted-entry-id")
    )
    brief = as_map(ask("XINFO", "STREAM", key))
    reverse = [parse_id(entry[0]) for entry in ask("XREVRANGE", key, "+", "-")]

    def agree(what: str, *answers: object) -> None:
        if any(answer != answers[0] for answer in answers):
            raise Contradiction(f"{key!r}: {what}: {answers}")

    agree("length", ask("XLEN", key), len(ids), info[b"length"], brief[b"length"])
    agree("order", sorted(set(ids)), ids, reverse[::-1], list(entries_of(info[b"entries"])))
    agree("first ID", info[b"recorded-first-entry-id"], format_id(ids[0]) if ids else b"0-0")
    agree("groups", brief[b"groups"], len(info[b"groups"]))
    if ids:
        agree("first and last", [parse_id(brief[b"first-entry"][0]),
              parse_id(brief[b"last-entry"][0])], [ids[0], ids[-1]])  # fmt: skip
        agree("an ID above the last", last_id >= ids[-1], True)
    agree("fewer added than there are", info[b"entries-added"] >= len(ids), True)
    groups = {}
    summaries = {row[b"name"]: row for row in map(as_map, ask("XINFO", "GROUPS", key))}
    for row in map(as_map, info[b"groups"]):
        group = observe_group(ask, key, row, agree)
        summary = summaries.pop(row[b"name"])
        for name in (b"last-delivered-id", b"entries-read", b"lag"):
            agree(name.decode(), row[name], summary[name])
        agree("pending", summary[b"pending"], len(group.pending))
        agree("consumers", summary[b"consumers"], len(group.consumers))
        groups[row[b"name"]] = group
    agree("groups by name", summaries, {})
    return ObservedStream(entries, last_id, max_deleted_id, info[b"entries-added"], groups, info)


def observe_group(
    ask: Ask, key: bytes, row: dict[bytes, Any], agree: Callable[..., None]
) -> ObservedGroup:
    """One group of XINFO STREAM FULL beside XPENDING and XINFO CONSUMERS."""
    name = row[b"name"]
    pending = {}
    for entry_id, consumer, delivery_ms, count in row[b"pending"]:
        pending[parse_id(entry_id)] = ObservedPending(consumer, delivery_ms, count)
    agree("PEL's length", row[b"pel-count"], len(pending))
    agree("PEL's order", sorted(pending), list(pending))
    owned: dict[int, bytes] = {}
    names = set()
    for consumer in map(as_map, row[b"consumers"]):
        names.add(consumer[b"name"])
        agree("a consumer's PEL", consumer[b"pel-count"], len(consumer[b"pending"]))
        for entry_id, delivery_ms, count in consumer[b"pending"]:
            found = parse_id(entry_id)
            agree(f"{entry_id!r} is owned twice", found in owned, False)
            owned[found] = consumer[b"name"]
            agree(f"{entry_id!r} of {consumer[b'name']!r}", pending.get(found),
                  ObservedPending(consumer[b"name"], delivery_ms, count))  # fmt: skip
    free = [i for i, entry in pending.items() if entry.consumer == b"" and i not in owned]
    agree("the consumers' PELs", sorted(owned.keys() | set(free)), list(pending))
    agree("entries without an owner", row.get(b"nacked-count", 0), len(free))

    extended = ask("XPENDING", key, name, "-", "+", "100000")
    agree("XPENDING", [(parse_id(e[0]), e[1], e[3]) for e in extended],
          [(i, e.consumer, e.delivery_count) for i, e in pending.items()])  # fmt: skip
    total, first, last, shares = ask("XPENDING", key, name)
    ids = list(pending)
    ends = [format_id(ids[0]), format_id(ids[-1])] if ids else [None, None]
    agree("XPENDING's summary", [total, first, last], [len(ids), *ends])
    counts = {who: int(count) for who, count in shares or [] if who or who in names}
    by_consumer = {who: list(owned.values()).count(who) for who in set(owned.values())}
    agree("XPENDING by consumer", {w: c for w, c in counts.items() if w}, by_consumer)
    rows = {c[b"name"]: c[b"pending"] for c in map(as_map, ask("XINFO", "CONSUMERS", key, name))}
    agree("XINFO CONSUMERS", rows, {who: by_consumer.get(who, 0) for who in names})
    return ObservedGroup(
        parse_id(row[b"last-delivered-id"]), row[b"entries-read"], row[b"lag"],
        names, pending, free,
    )  # fmt: skip


def observe_keys(ask: Ask, name: bytes, clock_ms: Callable[[], int]) -> ObservedKeys:
    """Everything in the database that is of connection `name`. Raises Contradiction."""
    began_ms = clock_ms()
    found = ObservedKeys((began_ms, began_ms))
    for key in sorted(ask("KEYS", name + b":*")):
        kind = ask("TYPE", key)
        if kind == b"stream":
            found.streams[key] = observe_stream(ask, key)
        elif kind == b"string":
            text = ask("GET", key)
            if text is None:
                continue  # its time came between the two
            found.strings[key] = text
        expires_ms = ask("PEXPIRETIME", key)
        if expires_ms > 0:
            found.expires[key] = expires_ms
    if ask("EXISTS", SHARED):
        fields = entries_of(ask("XRANGE", SHARED, "-", "+"))
        found.shared_added = [i for i, words in fields.items() if words == [b"by", name]]
        pending = ask("XPENDING", SHARED, SHARED_GROUP, "-", "+", "1000000", name)
        if not isinstance(pending, Exception):
            found.shared_pending = {parse_id(row[0]) for row in pending}
    found.read_ms = began_ms, clock_ms()
    return found
