"""Derives a group's figures from its replies and the previous sample.

A consumer that was idle for longer than `dead_after_ms` with pending entries is dead: idle time
alone grows in a blocked read, too. It stays dead until it is seen again, even after others have
claimed all its entries.

Entries move when they are claimed. If a consumer has fewer pending entries than before and was not
seen in between, others took them. The taker is a consumer that gained the same number; otherwise it
is unknown, because it may have acknowledged them, while others read new entries. If the group has
delivered nothing new, every gain came from other consumers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rillway.sampler.figures import ConsumerFigures, GroupFigures, Move, PolicyValue, age_ms
from rillway.sampler.replies import (
    Reply,
    as_map,
    as_text,
    is_error,
    known_lag,
    optional_text,
    text_map,
)
from rillway.sampler.waits import policy_figures

MOVES_KEPT_MS = 60_000


@dataclass(frozen=True, slots=True)
class Interval:
    """The interval from the previous sample, if there was one, to `time_ms`."""

    time_ms: int
    before_ms: int | None

    @property
    def elapsed_ms(self) -> int:
        return 0 if self.before_ms is None else self.time_ms - self.before_ms

    def rate(self, before: int | None, after: int | None) -> float | None:
        """Return the rate a second; None if a counter is unknown or decreased."""
        if before is None or after is None or after < before or self.elapsed_ms <= 0:
            return None
        return (after - before) * 1000 / self.elapsed_ms


def group_figures(
    info: dict[bytes, Reply],
    pending: Reply,
    consumers: Reply,
    policy: Reply,
    before: GroupFigures | None,
    interval: Interval,
    dead_after_ms: int,
) -> GroupFigures:
    """Return a group's figures. `pending`, `consumers`, `policy`: None if not requested."""
    oldest_id = None
    if pending is not None and not is_error(pending) and pending[0]:
        oldest_id = optional_text(pending[1])
    entries_read, lag = info.get(b"entries-read"), known_lag(info)
    group = GroupFigures(
        name=info[b"name"],
        lag=lag,
        pending=info[b"pending"],
        entries_read=entries_read,
        last_delivered_id=as_text(info[b"last-delivered-id"]),
        oldest_id=oldest_id,
        oldest_ms=age_ms(oldest_id, interval.time_ms),
        out_per_s=interval.rate(before.entries_read if before else None, entries_read),
        consumer_count=info[b"consumers"],
        **policy_figures(known_policy(policy), lag),
    )
    if consumers is None or is_error(consumers):
        return group
    return with_consumers(group, map(consumer_figures, consumers), before, interval, dead_after_ms)


def known_policy(reply: Reply) -> dict[str, PolicyValue] | None:
    """Return the reply to XINFO POLICY as a map; None if it is unknown."""
    return None if reply is None or is_error(reply) else text_map(reply)


def with_consumers(
    group: GroupFigures,
    consumers: Iterable[ConsumerFigures],
    before: GroupFigures | None,
    interval: Interval,
    dead_after_ms: int,
) -> GroupFigures:
    """Return the group with its consumers, the dead ones marked, and the moves between them."""
    known = {one.name: one for one in (before and before.consumers) or ()}
    marked = [
        replace(one, is_dead=is_dead(one, known.get(one.name), interval, dead_after_ms))
        for one in consumers
    ]
    since_ms = interval.time_ms - MOVES_KEPT_MS
    moves = [move for move in (before.moves if before else ()) if move.time_ms > since_ms]
    if before is not None and known:
        is_idle = before.last_delivered_id == group.last_delivered_id
        moves += moves_between(known, marked, interval, is_idle=is_idle)
    members = tuple(replace(one, moved=_moved(one.name, moves)) for one in marked)
    dead = sum(one.is_dead for one in members)
    return replace(group, dead_count=dead, consumers=members, moves=tuple(moves))


def is_dead(
    consumer: ConsumerFigures,
    before: ConsumerFigures | None,
    interval: Interval,
    dead_after_ms: int,
) -> bool:
    if consumer.idle_ms > dead_after_ms and consumer.pending > 0:
        return True
    return before is not None and before.is_dead and not _was_seen(consumer, interval)


def moves_between(
    before: dict[bytes, ConsumerFigures],
    after: Sequence[ConsumerFigures],
    interval: Interval,
    *,
    is_idle: bool,
) -> Iterator[Move]:
    """Yield the moves. `is_idle`: the group has delivered nothing new in between."""
    gained: dict[bytes, int] = {}
    lost: dict[bytes, int] = {}
    seen = set()
    for one in after:
        change = one.pending - (before[one.name].pending if one.name in before else 0)
        (gained if change > 0 else lost)[one.name] = abs(change)
        if _was_seen(one, interval):
            seen.add(one.name)
    takers = sorted(gained, key=lambda name: -gained[name])
    for giver in sorted(lost, key=lambda name: name in seen):
        if giver in seen and not is_idle:
            continue
        for taker in takers:
            entries = min(gained[taker], lost[giver])
            if entries and (is_idle or gained[taker] >= lost[giver]):
                gained[taker] -= entries
                lost[giver] -= entries
                yield Move(interval.time_ms, giver, taker, entries)
        if lost[giver] and giver not in seen:
            yield Move(interval.time_ms, giver, None, lost[giver])


def _was_seen(consumer: ConsumerFigures, interval: Interval) -> bool:
    return consumer.idle_ms <= interval.elapsed_ms


def _moved(name: bytes, moves: Sequence[Move]) -> int:
    came = sum(move.entries for move in moves if move.taker == name)
    return came - sum(move.entries for move in moves if move.giver == name)


def consumer_figures(reply: Reply) -> ConsumerFigures:
    """Return a consumer's figures by its part of the reply to XINFO CONSUMERS."""
    info = as_map(reply)
    inactive_ms = info.get(b"inactive", -1)
    return ConsumerFigures(
        name=info[b"name"],
        pending=info[b"pending"],
        idle_ms=info[b"idle"],
        inactive_ms=inactive_ms if inactive_ms >= 0 else None,
    )
