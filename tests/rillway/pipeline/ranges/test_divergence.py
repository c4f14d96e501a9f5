"""Which histories have diverged from the one that was read, and which are only shorter."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from rillway.pipeline.ranges.anchors import Anchor
from rillway.pipeline.ranges.divergence import (
    RECENT,
    Evidence,
    anchored,
    checked,
    divergence,
    last_in_common,
)
from rillway.pipeline.ranges.loss import DataLost, LossPolicy
from rillway.pipeline.ranges.offsets import BEGINNING, Anchors, Offset, Position
from rillway.pipeline.wire.capabilities import Capabilities
from rillway.pipeline.wire.connection import Connection, ServerError
from rillway.pipeline.wire.facts import StreamFacts, all_facts, read_facts
from rillway.pipeline.wire.ids import format_id, make_id
from tests.rillway.pipeline.scene import add, add_many

# Entries 1-0 to 20-0 were read; the last ten are anchors, and one farther back.
ANCHORS = tuple(Anchor(make_id(ms), f"h{ms}", 21 - ms) for ms in (*range(20, 10, -1), 1))
READ = Position(make_id(20), 20, anchors=Anchors.of(ANCHORS), removed=0)
FACTS = StreamFacts(length=25, first_id=make_id(1), last_id=make_id(25), entries_added=25)


def seen(facts: StreamFacts, last: int | None, *there: int, **others: str) -> Evidence:
    """What is there: `last` and `there` as they were, `others` by `h5="x"` with other hashes."""
    found = {make_id(ms): f"h{ms}" for ms in ({last} if last else set()) | set(there)}
    found |= {make_id(int(name[1:])): digest for name, digest in others.items()}
    return Evidence(facts, make_id(last) if last else None, found)


def test_the_last_anchor_proves_the_history() -> None:
    assert divergence(READ, seen(FACTS, 20)) is None


@pytest.mark.parametrize("added", [19, 0])
def test_fewer_entries_than_were_counted_are_another_history(added: int) -> None:
    facts = StreamFacts(added, make_id(1), make_id(25), entries_added=added)
    assert divergence(READ, seen(facts, 20)) == f"the stream ends at 25-0 after {added} entries"


def test_other_bytes_at_an_id_are_another_history() -> None:
    other = "the entry 20-0 is not the one that was read"
    assert divergence(READ, seen(FACTS, 20, 19, h20="x")) == other
    # Not the last one: it is not there any more.
    assert divergence(READ, seen(FACTS, 19, h12="x")) == other.replace("20", "12")


def test_an_entry_among_the_last_ten_that_was_not_there_is_another_history() -> None:
    new = Evidence(FACTS, make_id(19, 5), {make_id(19, 5): "new", make_id(15): "h15"})
    assert divergence(READ, new) == "the entry 19-5 came in after 20-0"


def test_deleted_anchors_prove_nothing() -> None:
    deleted = StreamFacts(20, make_id(1), make_id(25), make_id(20), entries_added=25)
    assert divergence(READ, seen(deleted, 15)) is None
    assert divergence(READ, seen(deleted, 4)) is None
    assert divergence(READ, seen(deleted, 1)) is None


def test_trimmed_anchors_prove_nothing() -> None:
    assert divergence(READ, seen(StreamFacts(0, 0, make_id(25), entries_added=25), None)) is None
    left = StreamFacts(5, make_id(21), make_id(25), entries_added=25)
    assert divergence(READ, seen(left, None)) is None


def test_lost_entries_after_which_none_came_in_below_are_no_loss() -> None:
    assert divergence(READ, seen(FACTS, 15, 14, 13)) is None


def test_an_anchor_that_is_missing_though_none_was_removed_is_another_history() -> None:
    gone = "the entry 20-0 is gone, and none was deleted or trimmed"
    assert divergence(READ, seen(FACTS, 10)) == gone
    assert divergence(READ, seen(FACTS, None)) == gone


def test_a_stream_cannot_have_lost_fewer_entries_than_are_not_there() -> None:
    facts = StreamFacts(24, make_id(21), make_id(44), entries_added=30)
    assert divergence(READ, seen(facts, None)) == (
        "the entry 20-0 is gone, and only 6 were deleted or trimmed"
    )


def test_a_position_without_anchors_is_known_by_its_id_and_number() -> None:
    assert divergence(Position(make_id(20), 20), seen(FACTS, None)) is None
    assert divergence(Position(make_id(26), None), seen(FACTS, None)) is not None


def test_what_is_read_again_begins_after_the_last_anchor_that_agrees() -> None:
    def common(evidence: Evidence) -> int | None:
        found = last_in_common(READ, evidence)
        return None if found is None else found.id >> 64

    assert common(seen(FACTS, 10, 15, 14, 1)) == 15
    assert common(seen(FACTS, 10, 15, 13, 1, h14="x")) == 13
    assert common(seen(FACTS, 10, h1="x", h20="y")) is None


# -- anchors, on servers --------------------------------------------------------------------------

STARTED = "s"


def read_to(link: Connection, start: Position, ms: int, n: int | None) -> Position:
    """The position that a batch reaches, with its anchors."""
    offset: Offset = {STARTED: Position(make_id(ms), n)}
    return anchored(link, {STARTED: start}, offset, all_facts(link, [STARTED]))[STARTED]


def back(position: Position) -> list[tuple[int, int]]:
    return [(anchor.id >> 64, anchor.back) for anchor in position.anchors]


@pytest.mark.integration
def test_the_last_ten_are_anchors_and_some_farther_back(link: Connection) -> None:
    add_many(link, "s", 2000)
    far = [(1900, 100), (1000, 1000)]
    last = [(ms, 2001 - ms) for ms in range(2000, 1990, -1)]
    assert back(read_to(link, BEGINNING, 2000, 2000)) == last + far


@pytest.mark.integration
def test_entries_that_come_one_by_one_are_read_once(link: Connection) -> None:
    """What is read for anchors: the entries that are new, and no others."""
    position = BEGINNING
    for ms in range(1, 151):
        add(link, "s", [f"{ms}-0"])
        before = link.received_bytes
        position = read_to(link, position, ms, ms)
        assert link.received_bytes - before < 2_000
    assert back(position)[:RECENT] == [(ms, 151 - ms) for ms in range(150, 140, -1)]
    far = back(position)[RECENT:]
    assert [distance for _, distance in far] == sorted(distance for _, distance in far)
    assert all(RECENT < distance <= 1000 for _, distance in far)
    assert len(far) == 2


@pytest.mark.integration
def test_where_a_large_batch_began_stays_an_anchor(link: Connection) -> None:
    add_many(link, "s", 5000)
    first = read_to(link, BEGINNING, 500, 500)
    assert back(read_to(link, first, 5000, 5000))[-1] == (500, 4501)


@pytest.mark.integration
def test_a_position_that_did_not_move_keeps_its_anchors(link: Connection) -> None:
    add_many(link, "s", 20)
    position = read_to(link, BEGINNING, 20, 20)
    link.call("XDEL", "s", "20-0", "19-0")
    assert read_to(link, position, 20, 20) == position


@pytest.mark.integration
def test_many_streams_are_looked_at_in_few_pipelines(
    link: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"s:{number}" for number in range(1200)]
    link.call_all([("XADD", name, "1-0", "f", "v") for name in names])
    sent: list[int] = []
    send = Connection.send

    def counted(self: Connection, data: bytes) -> None:
        sent.append(data.count(b"RANGE\r\n"))
        send(self, data)

    monkeypatch.setattr(Connection, "send", counted)
    facts = all_facts(link, names)
    sent.clear()
    ends = anchored(link, {}, {name: Position(make_id(1), 1) for name in names}, facts)
    assert sent == [500, 500, 200]
    sent.clear()
    assert checked(link, LossPolicy(fails=True), ends, facts) == ends
    assert [size for size in sent if size] == [500, 500, 200]


@pytest.mark.integration
def test_a_refused_request_leaves_the_connection_in_order(link: Connection) -> None:
    add_many(link, "s", 20)
    position = read_to(link, BEGINNING, 20, 20)
    before = all_facts(link, ["s"])
    link.call("SET", "s", "a string")
    with pytest.raises(ServerError, match="WRONGTYPE"):
        checked(link, LossPolicy(fails=True), {"s": position}, before)
    assert link.call("PING") == b"PONG"


# -- stories --------------------------------------------------------------------------------------


def copy_of(link: Connection) -> bytes:
    dumped: bytes = link.call("DUMP", "s")
    return dumped


def fail_over(link: Connection, copy: bytes) -> None:
    """The stream as a replica had it."""
    link.call("RESTORE", "s", 0, copy, "REPLACE")


def check(link: Connection, position: Position, *, fails: bool = True) -> Position:
    return checked(link, LossPolicy(fails=fails), {"s": position}, all_facts(link, ["s"]))["s"]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("lost", "below", "above"), [(10, 5, 25), (10, 10, 25), (5, 10, 25), (30, 3, 50), (10, 0, 25)]
)
def test_a_lost_tail_and_a_clock_that_is_behind(
    link: Connection, lost: int, below: int, above: int
) -> None:
    add_many(link, "s", 120 - lost)
    copy = copy_of(link)
    add_many(link, "s", lost, first=121 - lost)
    position = read_to(link, BEGINNING, 120, 120)
    fail_over(link, copy)
    add(link, "s", [f"{120 - lost}-{n}" for n in range(1, below + 1)])
    add_many(link, "s", above, first=121)
    with pytest.raises(DataLost, match="up to 120-0, 120 entries, but the history diverged: the"):
        check(link, position)
    # Of the last ten one is left, or none: then it is the one 100 back.
    assert check(link, position, fails=False).id == make_id(115 if lost == 5 else 20)


@pytest.mark.integration
def test_a_lost_tail_after_which_all_is_above_goes_on(link: Connection) -> None:
    add_many(link, "s", 115)
    copy = copy_of(link)
    add_many(link, "s", 5, first=116)
    position = read_to(link, BEGINNING, 120, 120)
    fail_over(link, copy)
    add_many(link, "s", 25, first=121)
    assert check(link, position) == position


@pytest.mark.integration
def test_a_clock_that_is_behind_is_noticed_while_a_cap_trims(link: Connection) -> None:
    add_many(link, "s", 100)
    copy = copy_of(link)
    add_many(link, "s", 20, first=101)
    position = read_to(link, BEGINNING, 120, 120)
    fail_over(link, copy)
    for ms in range(102, 160):
        link.call("XADD", "s", "MAXLEN", 90, f"{ms}-7", "n", "new")
    # All anchors but one are missing, and that is one which says nothing of what is new.
    with pytest.raises(DataLost, match="the entry 119-7 came in after 120-0"):
        check(link, position)


@pytest.mark.integration
def test_what_is_removed_while_anchors_are_looked_for_proves_nothing(link: Connection) -> None:
    add_many(link, "s", 120)
    position = read_to(link, BEGINNING, 120, 120)
    add_many(link, "s", 5, first=121)
    before = all_facts(link, ["s"])
    link.call("XDEL", "s", *(f"{ms}-0" for ms in range(105, 121)))
    assert checked(link, LossPolicy(fails=True), {"s": position}, before) == {"s": position}


RECREATIONS: dict[str, Callable[[Connection], object]] = {
    "lower IDs": lambda link: add_many(link, "s", 10),
    "the same IDs": lambda link: add(link, "s", [f"{n}-0" for n in range(1, 301)], "n", "other"),
    "higher IDs, fewer": lambda link: add_many(link, "s", 10, first=500),
    "higher IDs, more": lambda link: add_many(link, "s", 300, first=500),
    "IDs between": lambda link: add(link, "s", [f"{n}-1" for n in range(1, 301)]),
    "another stream": lambda link: link.call("RENAME", "t", "s"),
}


@pytest.mark.integration
@pytest.mark.parametrize("story", RECREATIONS)
def test_a_stream_that_was_created_again_is_noticed(link: Connection, story: str) -> None:
    add_many(link, "s", 120)
    add(link, "t", [f"{n}-0" for n in range(60, 260)], "other", "stream")
    position = read_to(link, BEGINNING, 120, 120)
    link.call("DEL", "s")
    RECREATIONS[story](link)
    with pytest.raises(DataLost, match="the history diverged"):
        check(link, position)
    assert check(link, position, fails=False).id == 0


@pytest.mark.integration
def test_a_stream_that_was_renamed_away_and_back_goes_on(link: Connection) -> None:
    add_many(link, "s", 120)
    position = read_to(link, BEGINNING, 120, 120)
    link.call("RENAME", "s", "t")
    add_many(link, "t", 10, first=121)
    with pytest.raises(DataLost, match="the stream is gone"):
        check(link, position)
    link.call("RENAME", "t", "s")
    assert check(link, position) == position


@pytest.mark.integration
def test_a_stream_that_was_emptied_and_set_back_is_noticed(link: Connection) -> None:
    add_many(link, "s", 20)
    position = read_to(link, BEGINNING, 20, 20)
    link.call("XTRIM", "s", "MAXLEN", 0)
    link.call("XSETID", "s", "5-0")
    add_many(link, "s", 10, first=6)
    with pytest.raises(DataLost, match="ends at 15-0 after 30 entries"):
        check(link, position)


@pytest.mark.integration
@pytest.mark.parametrize("seed", range(12))
def test_trims_and_deletions_of_what_was_read_are_never_taken_for_another_history(
    link: Connection, seed: int
) -> None:
    """Of all kinds, between batches of random sizes. A batch reads all that there is."""
    chance = random.Random(seed)
    holes = Capabilities(link).has_command("XACKDEL")  # XTRIM ACKED came with it
    position, added = BEGINNING, 0
    link.call("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM")
    for _ in range(40):
        size = chance.choice((1, 1, 2, 9, 10, 11, 40, 150))
        add_many(link, "s", size, first=added + 1)
        added += size
        assert check(link, position) == position
        position = read_to(link, position, added, added)
        for _ in range(chance.randrange(4)):
            remove_some(link, chance, position, holes=holes)


def remove_some(
    link: Connection, chance: random.Random, position: Position, *, holes: bool
) -> None:
    ids = [entry[0] for entry in link.call("XRANGE", "s", "-", "+")]
    if not ids:
        return
    kind = chance.choice(("last", "some", "trim", "acked", "set id"))
    if kind == "last":
        link.call("XDEL", "s", *ids[-chance.choice((1, 3, 12)) :])
    elif kind == "some":
        link.call("XDEL", "s", *chance.sample(ids, len(ids) // 3 or 1))
    elif kind == "trim":
        link.call("XTRIM", "s", "MAXLEN", chance.choice((0, 1, len(ids) // 2)))
    elif kind == "acked" and holes:
        link.call("XREADGROUP", "GROUP", "g", "c", "COUNT", 500, "STREAMS", "s", ">")
        link.call("XACK", "s", "g", *chance.sample(ids, len(ids) * 3 // 4 or 1))
        link.call("XTRIM", "s", "MAXLEN", 0, "ACKED")
    elif kind == "set id":
        facts = read_facts(link, "s")
        added = ("ENTRIESADDED", facts.entries_added, "MAXDELETEDID", "0-0")
        link.call("XSETID", "s", format_id(position.id), *added[: chance.choice((0, 2))])


@pytest.mark.integration
@pytest.mark.parametrize(
    "seed", [pytest.param(n, marks=pytest.mark.thorough if n >= 4 else ()) for n in range(12)]
)
def test_whatever_a_failover_loses_all_that_is_there_is_read(link: Connection, seed: int) -> None:
    """Copies of any age take over; clocks are behind and ahead. Nothing is trimmed."""
    chance = random.Random(seed)
    clock, position = 1, BEGINNING
    read: set[tuple[bytes, bytes]] = set()
    add(link, "s", ["1-0"])
    copies = [copy_of(link)]
    for birth in range(1, 300):
        last = read_facts(link, "s").last_id >> 64
        clock = max(clock + chance.choice((0, 1, 5)), last)
        link.call("XADD", "s", f"{clock}-*", "n", birth)
        if chance.random() < 0.1:
            copies.append(copy_of(link))
        if chance.random() < 0.05:
            fail_over(link, chance.choice(copies[-3:]))
            clock = (read_facts(link, "s").last_id >> 64) + chance.choice((0, 1, 30))
        if chance.random() < 0.3:
            position = read_all_after(link, check(link, position, fails=False), read)
    read_all_after(link, check(link, position, fails=False), read)
    alive = {(entry_id, fields[1]) for entry_id, fields in link.call("XRANGE", "s", "-", "+")}
    assert alive <= read


def read_all_after(link: Connection, start: Position, read: set[tuple[bytes, bytes]]) -> Position:
    facts = read_facts(link, "s")
    after = format_id(start.id + 1)
    read |= {(entry_id, fields[1]) for entry_id, fields in link.call("XRANGE", "s", after, "+")}
    end: Offset = {"s": Position(facts.last_id, facts.entries_added)}
    return anchored(link, {"s": start}, end, {"s": facts})["s"]
