"""Detects divergence: a stream has another history than the one that was read.

A failover loses the last entries, a key is deleted and created again, an older copy is restored.
Then a position by ID alone is useless: new entries may have lower IDs. So a position has anchors,
entries up to it by ID and hash, and a batch begins by checking the last of them. The history has
diverged

- if the stream ends before the position, or has had fewer entries than had been counted;
- if an anchor's ID has another entry;
- if an entry that is no anchor is among the last ten, which were all anchors;
- if the last anchor is missing and nothing was removed from the stream since it was seen;
- if no entry up to the position is left, and fewer entries were removed than had been counted.

An anchor that was trimmed or deleted proves nothing. Two cases are not detected: a failover that
lost ten entries or more, if others were removed since and all new entries below the position have
IDs below the last ten; and one after which a producer adds the last anchor again, with ID and
bytes.

The cost for each stream with new entries, in one pipeline for all streams: one entry is read to
check a position; up to ten and two single ones are read for the anchors of the next position. The
other anchors are read only if the last one is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rillway.pipeline.ranges.anchors import Anchor, entry_hash
from rillway.pipeline.ranges.loss import LossPolicy, check_start, read_up_to, regress
from rillway.pipeline.ranges.offsets import Anchors, Offset, Position, beginning
from rillway.pipeline.ranges.plan import backlog
from rillway.pipeline.wire.connection import Connection, Reply, ServerError, Word
from rillway.pipeline.wire.facts import StreamFacts, all_facts
from rillway.pipeline.wire.ids import format_id, parse_id

# All of the last entries are anchors, so that a new one among them is recognised.
RECENT = 10
# The approximate distances of the others.
FARTHER = (100, 1000)
# Spark compares and stores offsets as text: 64 bits of a hash suffice.
HASH_DIGITS = 16
# The number of requests sent at once, each for one entry or ten.
PIPELINE = 500


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence of a stream's history up to a position: hashes by ID.

    `last`: the ID of the present last entry, None if there is none; `found`: that entry, and the
    anchors that were requested and exist; `facts`: not older than these.
    """

    facts: StreamFacts
    last: int | None = None
    found: Mapping[int, str] = field(default_factory=dict)


def divergence(position: Position, seen: Evidence) -> str | None:
    """Return a known difference of the history from the one read up to `position`, or None.

    All anchors must have been requested for `seen`, unless the first one has its hash.
    """
    facts = seen.facts
    if (ends := regress(position, facts)) is not None:
        return ends
    if not position.anchors:
        return None
    last = position.anchors.last
    if seen.last == last.id and seen.found[last.id] == last.hash:
        return None
    for anchor in position.anchors:
        if seen.found.get(anchor.id, anchor.hash) != anchor.hash:
            return f"the entry {format_id(anchor.id)} is not the one that was read"
    recent = [anchor.id for anchor in position.anchors if anchor.back <= RECENT]
    if seen.last is not None and seen.last >= recent[-1]:
        if seen.last in recent:
            return None  # entries after it were deleted or lost, and none were added in between
        return f"the entry {format_id(seen.last)} came in after {format_id(last.id)}"
    gone = f"the entry {format_id(last.id)} is gone"
    if position.removed is not None and facts.trimmed <= position.removed:
        return f"{gone}, and none was deleted or trimmed"
    if position.n is not None and seen.last is None and facts.trimmed < position.n:
        return f"{gone}, and only {facts.trimmed:,} were deleted or trimmed"
    return None


def last_in_common(position: Position, seen: Evidence) -> Anchor | None:
    """Return the last anchor that both histories have."""
    found: Anchor | None = None
    for anchor in reversed(tuple(position.anchors)):
        if (digest := seen.found.get(anchor.id)) == anchor.hash:
            found = anchor
        elif digest is not None:
            break
    return found


def checked(
    connection: Connection, policy: LossPolicy, start: Offset, facts: Mapping[str, StreamFacts]
) -> Offset:
    """Return where to continue in each stream: after `start`, or from a divergence on.

    Raises DataLost if entries are lost, or histories diverged.
    """
    seen = _look(connection, start, facts)
    return {name: _checked(policy, name, start[name], seen[name]) for name in start}


def _checked(policy: LossPolicy, stream: str, position: Position, seen: Evidence) -> Position:
    reason = None if seen.facts.is_missing else divergence(position, seen)
    if reason is None:
        check_start(policy, stream, position, seen.facts)
        return position
    common = last_in_common(position, seen)
    where = "from its beginning" if common is None else f"after {format_id(common.id)}"
    policy.diverged(
        f"{read_up_to(stream, position)}, but the history diverged: {reason}",
        instead=f"reads on {where}",
    )
    if common is None:
        return beginning(seen.facts)
    older = [each for each in position.anchors if each.id < common.id]
    return Position(common.id, None, anchors=Anchors.of([replace(common, back=1), *older]))


def check_ends(
    connection: Connection, policy: LossPolicy, end: Offset, facts: Mapping[str, StreamFacts]
) -> None:
    """Check that the streams still have the planned ranges. Raises DataLost."""
    seen = _look(connection, end, facts)
    for name, position in end.items():
        if (reason := divergence(position, seen[name])) is not None:
            policy.diverged(
                f"{name}: was to be read up to {format_id(position.id)}, but the history diverged: "
                f"{reason}",
                instead="reads what is there, and the next batch what differs",
            )


def anchored(
    connection: Connection, start: Offset, end: Offset, facts: Mapping[str, StreamFacts]
) -> Offset:
    """Return the ends of a batch with their anchors. `start`: its checked beginning."""
    moved = {
        name: start.get(name) or beginning(facts[name])
        for name, position in end.items()
        if name not in start or position.id != start[name].id or not start[name].anchors
    }
    requests = [_recent_request(name, first, end[name]) for name, first in moved.items()]
    asked = {name: _far_ids(first, end[name], facts[name]) for name, first in moved.items()}
    requests += [
        ("XREVRANGE", name, format_id(each), "-", "COUNT", 1)
        for name, ids in asked.items()
        for each in ids
    ]
    replies = _entries(connection, requests)
    recent = dict(zip(moved, replies, strict=False))
    far = iter(replies[len(moved) :])
    anchors: Offset = {}
    for name, position in end.items():
        if name not in moved:
            anchors[name] = replace(
                position, anchors=start[name].anchors, removed=start[name].removed
            )
            continue
        farther = [entry for _ in asked[name] for entry in next(far)]
        added = max(_added(moved[name], position, facts[name]), len(recent[name]))
        kept = _joined(recent[name], farther, tuple(moved[name].anchors), added)
        counts = facts[name].entries_added >= facts[name].length > 0
        removed = facts[name].trimmed if kept and counts else None
        anchors[name] = replace(position, anchors=kept, removed=removed)
    return anchors


def _joined(
    recent: Sequence[tuple[int, str]],
    farther: Sequence[tuple[int, str]],
    before: Sequence[Anchor],
    added: int,
) -> Anchors:
    """Join the last entries and one anchor for each distance, the farthest one in between.

    An anchor still farther back stays if the batch begins there. `before`: the anchors of the
    beginning; `added`: the approximate number of entries in the batch.
    """
    kept = [Anchor(entry_id, digest, back) for back, (entry_id, digest) in enumerate(recent, 1)]
    oldest = kept[-1].id if kept else None
    others = [
        Anchor(entry_id, digest, back)
        for back, (entry_id, digest) in zip(FARTHER, farther, strict=False)
    ]
    others += [replace(anchor, back=anchor.back + added) for anchor in before]
    others = [each for each in others if oldest is None or each.id < oldest]
    kept += [each for each in others if each.back <= RECENT]
    nearest = RECENT
    for farthest in FARTHER:
        between = [each for each in others if nearest < each.back <= farthest]
        kept += sorted(between, key=lambda each: each.id)[:1]
        nearest = farthest
    if before and before[0].back + added > nearest:
        kept.append(replace(before[0], back=before[0].back + added))
    return Anchors.of(sorted({each.id: each for each in kept}.values(), key=lambda each: -each.id))


def _added(start: Position, end: Position, facts: StreamFacts) -> int:
    if start.n is not None and end.n is not None:
        return max(end.n - start.n, 0)
    return max(backlog(start.id, start.n, facts) - backlog(end.id, end.n, facts), 0)


def _recent_request(stream: str, start: Position, end: Position) -> Sequence[Word]:
    """Return the request for the last entries, without the anchors of `start`."""
    least = format_id(start.id + 1) if start.anchors and start.id < end.id else "-"
    return ("XREVRANGE", stream, format_id(end.id), least, "COUNT", RECENT)


def _far_ids(start: Position, end: Position, facts: StreamFacts) -> list[int]:
    """Estimate the IDs of entries that are farther back, assuming a constant rate."""
    added, first = _added(start, end, facts), max(start.id, facts.first_id)
    span = max(end.id - first, 0)
    return [end.id - span * back // added for back in FARTHER if back < added]


# -- looking --------------------------------------------------------------------------------------


def _look(
    connection: Connection, positions: Offset, facts: Mapping[str, StreamFacts]
) -> dict[str, Evidence]:
    """Return the evidence of each stream. Reads one entry for each, more if it differs."""
    names = [
        name for name, each in positions.items() if each.anchors and not facts[name].is_missing
    ]
    last = _entries(
        connection,
        [("XREVRANGE", name, format_id(positions[name].id), "-", "COUNT", 1) for name in names],
    )
    seen = {name: Evidence(facts[name]) for name in positions}
    for name, entries in zip(names, last, strict=True):
        seen[name] = Evidence(facts[name], entries[0][0] if entries else None, dict(entries))
    anchors = {name: positions[name].anchors.last for name in names}
    doubtful = [
        name for name, anchor in anchors.items() if seen[name].found.get(anchor.id) != anchor.hash
    ]
    requests = [
        ("XRANGE", name, format_id(anchor.id), format_id(anchor.id))
        for name in doubtful
        for anchor in positions[name].anchors
    ]
    found_again = iter(_entries(connection, requests))
    others = {
        name: [entry for _ in positions[name].anchors for entry in next(found_again)]
        for name in doubtful
    }
    # Requested last, so that they count all that was removed before an anchor was read.
    now = all_facts(connection, doubtful)
    for name in doubtful:
        found = dict(others[name]) | dict(seen[name].found)
        seen[name] = replace(seen[name], facts=now[name], found=found)
    return seen


def _entries(
    connection: Connection, requests: Sequence[Sequence[Word]]
) -> list[list[tuple[int, str]]]:
    """Return IDs and hashes of the entries in replies. Raises ServerError.

    A reply is dropped before the next is read: entries may be large.
    """
    found: list[list[tuple[int, str]]] = []
    for place in range(0, len(requests), PIPELINE):
        part = requests[place : place + PIPELINE]
        for each in connection.call_each(part, _hashed):
            if isinstance(each, ServerError):
                raise each
            found.append(each)
    return found


def _hashed(entries: Iterable[Reply]) -> list[tuple[int, str]]:
    return [(parse_id(entry_id), entry_hash(flat)[:HASH_DIGITS]) for entry_id, flat in entries]
