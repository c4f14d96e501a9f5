"""What holds the entries of a group, by its figures; computed, never guessed. Pure.

A group with nothing to do, or whose entries are on their way, has no findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rillway.plurals import count_of
from rillway.sampler import ConsumerFigures, GroupFigures, StreamFigures
from rillway.sampler.replies import Words, as_text
from rillway.sampler.waits import BACK_OFF, DELAY, KEY, LOOKAHEAD, READ, ROOM
from rillway.text import duration

# A consumer that has received nothing for this long, while entries wait, does not read.
STILL_MS = 10_000
# An entry that is pending for longer is slow; one that was delivered so often fails.
SLOW_MS, OFTEN = 60_000, 4
# The share of pending entries that one of several consumers holds.
MOST, FEW = 0.8, 10
SHOWN = 3


@dataclass(frozen=True, slots=True)
class PendingOne:
    """An entry of XPENDING. `consumer` is empty if it has no owner."""

    id: str
    consumer: bytes
    idle_ms: int
    deliveries: int


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence, the consumer that it is about, and what to do."""

    text: str
    advice: str
    consumer: bytes | None = None

    def as_json(self) -> dict[str, Any]:
        consumer = None if self.consumer is None else as_text(self.consumer)
        return {"text": self.text, "consumer": consumer, "advice": self.advice}


def findings(
    stream: StreamFigures,
    group: GroupFigures,
    pending: Sequence[PendingOne],
    *,
    has_new: bool = False,
) -> list[Finding]:
    """Return the findings, the ones that hold most first.

    `group`: with its consumers and rates; `pending`: its oldest pending entries; `has_new`: the
    stream has entries after the last delivered one, asked for if the lag is unknown.
    """
    return [
        *readers(stream, group, has_new=has_new),
        *bounds(group),
        *consumers(group),
        *entries(group, pending),
    ]


def first_new(stream: bytes | str, group: GroupFigures) -> Words:
    """Return the request for the first entry that a group was not given yet."""
    return ("XRANGE", stream, f"({group.last_delivered_id}", "+", "COUNT", 1)


def readers(stream: StreamFigures, group: GroupFigures, *, has_new: bool) -> Iterator[Finding]:
    """Find that nothing reads, or not fast enough."""
    if not group.lag and not (group.lag is None and has_new):
        return
    held = {ROOM, LOOKAHEAD} & set(group.waits_for)
    number = "new entries" if group.lag is None else count_of(group.lag, "new entry")
    new = f"{number} not delivered yet"
    known = group.consumers or ()
    if not known:
        yield Finding(f"no consumer has ever read: {new}", "start a worker for this group")
        return
    since = min((one.idle_ms for one in known), default=0)
    if since >= STILL_MS:
        yield Finding(
            f"no consumer asks for entries, for {duration(since)}: {new}",
            "look whether the workers run, and read this group with the ID `>`",
        )
        return
    if held or stream.in_per_s is None or group.out_per_s is None:
        return
    if stream.in_per_s > group.out_per_s:
        yield Finding(
            f"entries come faster than they are read: {stream.in_per_s:,.0f} and "
            f"{group.out_per_s:,.0f} a second; {new}",
            "start more workers, or let each read more at once (COUNT)",
        )


def bounds(group: GroupFigures) -> Iterator[Finding]:
    """Find what the group's policy holds back."""
    waits = group.waits_for
    policy = group.policy or {}
    for bound in (ROOM, LOOKAHEAD):
        if bound in waits:
            most = policy.get(bound.lower(), "")
            yield Finding(
                f"{bound} {most} is reached: new entries wait until others are acknowledged",
                f"acknowledge faster, or raise it: XGROUP CONFIG ... {bound} N",
            )
    if waits.get(KEY):
        number = waiting(waits[KEY] or 0)
        yield Finding(
            f"{number} for another entry of the same key",
            "entries of one key are done one after the other: choose keys with fewer entries, or "
            "make the slow one faster",
        )
    for pause in (BACK_OFF, DELAY):
        if waits.get(pause):
            number = waiting(waits[pause] or 0)
            yield Finding(
                f"{number} for the next attempt, after a failure",
                "look at the errors: XPENDING, and the dead letters",
            )
    if waits.get(READ) and not group.lag and group.consumers:
        since = min(one.idle_ms for one in group.consumers)
        if since >= STILL_MS:
            number = count_of(waits[READ] or 0, "entry")
            yield Finding(
                f"no consumer asks for entries, for {duration(since)}: {number} due again",
                "look whether the workers run",
            )


def waiting(number: int) -> str:
    return f"{count_of(number, 'entry')} wait{'s' if number == 1 else ''}"


def consumers(group: GroupFigures) -> Iterator[Finding]:
    """Find consumers that hold entries and do nothing, or hold nearly all."""
    known = group.consumers or ()
    for one in most_first(known):
        if one.is_dead:
            held = count_of(one.pending, "pending entry")
            yield Finding(
                f"{as_text(one.name)} holds {held} and was idle for {duration(one.idle_ms)}",
                "if it does not return: XAUTOCLAIM for another consumer, then XGROUP DELCONSUMER",
                one.name,
            )
    if len(known) < 2 or group.pending < FEW:
        return
    first = next(iter(most_first(known)))
    if first.pending >= MOST * group.pending and not first.is_dead:
        yield Finding(
            f"{as_text(first.name)} holds {first.pending:,} of {group.pending:,} pending entries",
            "let it read fewer at once (COUNT), so that the others get some",
            first.name,
        )


def most_first(known: Iterable[ConsumerFigures]) -> list[ConsumerFigures]:
    return sorted(known, key=lambda one: (-one.pending, one.name))


def entries(group: GroupFigures, pending: Sequence[PendingOne]) -> Iterator[Finding]:
    """Find entries that fail again and again, and those that are in work for long."""
    failing = [one for one in pending if one.deliveries >= OFTEN]
    for one in failing[:SHOWN]:
        yield Finding(
            f"{one.id} was delivered {one.deliveries:,} times and never acknowledged",
            "look at it, and move it to the dead letters: rillway dead-letters",
            one.consumer or None,
        )
    dead = {one.name for one in group.consumers or () if one.is_dead}
    slow = [
        one
        for one in pending
        if one.idle_ms >= SLOW_MS and one.consumer and one.consumer not in dead
        and one not in failing
    ]  # fmt: skip
    for one in slow[:SHOWN]:
        yield Finding(
            f"{as_text(one.consumer)} has had {one.id} for {duration(one.idle_ms)}",
            "look what its handler waits for; nothing tells time in the batch from time in the "
            "handler",
            one.consumer,
        )
