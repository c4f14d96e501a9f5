"""A journal's entries, counted without Spark."""

from __future__ import annotations

import pytest

from rillway.pipeline.latency.distribution import LatencyCounts
from rillway.pipeline.latency.journal import (
    NAMES,
    Follower,
    NoJournal,
    count,
    find_journal,
    journal_name,
)
from rillway.pipeline.ranges.discovery import StreamMissing
from rillway.pipeline.wire.cluster import Cluster
from rillway.pipeline.wire.connection import Connection
from storage.groups.ack_journal import FIELD_NAMES
from tests.rillway.pipeline.group_scene import pending_stream
from tests.rillway.pipeline.latency.journals import (
    NOW_MS,
    UNREADABLE_OF_MIXED,
    acknowledgement,
    as_batch,
    mixed,
)
from tests.rillway.pipeline.scene import add


def times(
    tally: LatencyCounts, measure: str, group: str = "g", consumer: str = "c"
) -> dict[int, int]:
    return dict(getattr(tally.of(group, consumer), measure).counts)


def test_the_fields_are_those_that_the_server_writes() -> None:
    assert [name.encode() for name in NAMES] == FIELD_NAMES


def test_in_a_cluster_a_journal_is_in_the_slot_of_its_stream() -> None:
    alone, cluster = Connection.__new__(Connection), Cluster.__new__(Cluster)
    assert journal_name(alone, "orders") == "orders:acks"
    assert journal_name(cluster, "orders") == "{orders}:acks"
    assert journal_name(cluster, "orders:{3}") == "orders:{3}:acks"


def test_both_times_end_with_the_acknowledgement() -> None:
    entry = acknowledgement(entry_id=f"{NOW_MS}-7", delivered=NOW_MS + 10, acked=NOW_MS + 13)
    tally = count(as_batch([entry, entry]), "s")
    assert tally.of("g", "c").count == 2
    assert times(tally, "pending") == {3: 2}
    assert times(tally, "total") == {13: 2}


def test_only_what_was_asked_for_is_counted() -> None:
    batch = as_batch([acknowledgement("g"), acknowledgement("h"), acknowledgement(stream="t")])
    assert set(count(batch, "s").latencies) == {("g", "c"), ("h", "c")}
    assert set(count(batch, "s", ["h", "i"]).latencies) == {("h", "c")}
    assert set(count(batch, "t").latencies) == {("g", "c")}


def test_an_entry_that_was_given_back_has_no_pending_time() -> None:
    tally = count(as_batch([acknowledgement(consumer="", delivered=0, acked=NOW_MS + 5)]), "s")
    assert tally.of("g", "").count == 1
    assert times(tally, "pending", consumer="") == {}
    assert times(tally, "total", consumer="") == {5: 1}


@pytest.mark.parametrize("ms", [2**63, 2**64 - 1])
def test_an_id_that_is_no_time_has_no_total(ms: int) -> None:
    tally = count(as_batch([acknowledgement(entry_id=f"{ms}-0", acked=NOW_MS + 5)]), "s")
    assert (times(tally, "pending"), times(tally, "total")) == ({5: 1}, {})


def test_a_clock_that_went_back_counts_as_no_time() -> None:
    entry = acknowledgement(entry_id=f"{NOW_MS + 9}-0", delivered=NOW_MS + 3, acked=NOW_MS)
    tally = count(as_batch([entry]), "s")
    assert times(tally, "pending") == times(tally, "total") == {0: 1}


def test_names_need_not_be_text() -> None:
    entry = acknowledgement()
    entry[NAMES.index("consumer") * 2 + 1] = b"\xff"
    assert set(count(as_batch([entry, acknowledgement()]), "s").latencies) == {
        ("g", "\ufffd"),
        ("g", "c"),
    }


def test_entries_of_others_are_counted_and_left_out() -> None:
    entries = mixed()
    tally = count(as_batch(entries), "s")
    assert tally.unreadable == UNREADABLE_OF_MIXED
    assert tally.count == len(entries) - UNREADABLE_OF_MIXED - 1


def test_it_does_not_matter_how_a_journal_is_cut() -> None:
    batch = as_batch(mixed())
    whole, parts = count(batch, "s"), LatencyCounts()
    for start in range(0, len(batch), 7):
        parts.merge(count(batch.slice(start, 7), "s"))
    assert parts == whole


def test_nothing_has_no_acknowledgements() -> None:
    assert count(as_batch([]), "s").count == 0


# -- which journal -----------------------------------------------------------------------------


@pytest.mark.integration
def test_the_server_knows_the_journal_of_a_stream(rillway_link: Connection) -> None:
    add(rillway_link, "s", ["1-0"])
    with pytest.raises(NoJournal, match="XCFGSET s ACK-JOURNAL s:acks"):
        find_journal(rillway_link, "s")
    rillway_link.call("XCFGSET", "s", "ACK-JOURNAL", "s:acks")
    assert find_journal(rillway_link, "s") == "s:acks"


@pytest.mark.integration
def test_a_server_that_keeps_none_says_so(link: Connection) -> None:
    add(link, "s", ["1-0"])
    with pytest.raises(NoJournal, match="s has no journal of acknowledgements"):
        find_journal(link, "s")
    with pytest.raises(StreamMissing, match="there is no stream missing at"):
        find_journal(link, "missing")


pytestmark = pytest.mark.integration


def test_what_comes_in_is_counted_once(rillway_link: Connection) -> None:
    pending_stream(rillway_link, count=10)
    rillway_link.call("XCFGSET", "s", "ACK-JOURNAL", "j")
    with Connection(rillway_link.url) as other:
        follower = Follower(other, "j", "s", (), after=0)
        assert follower.next_tally(wait_ms=1).count == 0
        rillway_link.call("XACK", "s", "g", "1-0", "2-0", "3-0")
        assert follower.next_tally(wait_ms=1000).count == 3
        assert follower.next_tally(wait_ms=1).count == 0
        rillway_link.call("XACK", "s", "g", "4-0")
        assert follower.next_tally(wait_ms=1000).of("g", "c").count == 1


def test_other_groups_are_passed_over(rillway_link: Connection) -> None:
    pending_stream(rillway_link, count=2)
    rillway_link.call("XCFGSET", "s", "ACK-JOURNAL", "j")
    rillway_link.call("XACK", "s", "g", "1-0")
    with Connection(rillway_link.url) as other:
        follower = Follower(other, "j", "s", ("h",), after=0)
        assert follower.next_tally(wait_ms=1).count == 0
        assert follower.after > 0
