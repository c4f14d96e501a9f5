"""What is pending, planned and read in pages."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from rillway.pipeline.wire.connection import Connection, ServerError
from rillway.pipeline.wire.ids import MAX_ID, format_id, make_id, parse_id
from rillway.pipeline.wire.pending import (
    PendingEntry,
    PendingSlice,
    group_names,
    plan_pending,
    read_pending,
    server_time_ms,
)
from tests.rillway.pipeline.group_scene import deliver_again, pending_stream
from tests.rillway.pipeline.scene import add

pytestmark = pytest.mark.integration


def ids_of(pages: Iterable[list[PendingEntry]]) -> list[str]:
    return [format_id(entry.id) for page in pages for entry in page]


def test_a_group_is_read_page_by_page(link: Connection) -> None:
    pending_stream(link, count=10)
    pages = list(read_pending(link, PendingSlice("s", "g"), page_size=4))
    assert [len(page) for page in pages] == [4, 4, 2]
    assert ids_of(pages) == [f"{number}-0" for number in range(1, 11)]


def test_a_slice_has_both_of_its_ends(link: Connection) -> None:
    pending_stream(link, count=10)
    part = PendingSlice("s", "g", make_id(3), make_id(5))
    assert ids_of(read_pending(link, part, page_size=1)) == ["3-0", "4-0", "5-0"]


def test_the_last_id_there_can_be_ends_the_reading(link: Connection) -> None:
    add(link, "s", [format_id(MAX_ID)])
    link.call("XGROUP", "CREATE", "s", "g", "0")
    link.call("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
    pages = list(read_pending(link, PendingSlice("s", "g"), page_size=1))
    assert [page[0].id for page in pages] == [MAX_ID]


def test_an_entry_says_who_has_it_and_how_often_it_was_delivered(link: Connection) -> None:
    pending_stream(link, count=1)
    deliver_again(link, ["1-0"], 7, consumer="d", idle_ms=60_000)
    [[entry]] = read_pending(link, PendingSlice("s", "g"))
    assert (entry.id, entry.consumer, entry.deliveries) == (make_id(1), b"d", 7)
    assert entry.idle_ms is not None and 60_000 <= entry.idle_ms < 70_000


def test_only_what_is_idle_or_a_consumers_may_be_asked_for(link: Connection) -> None:
    pending_stream(link, count=5)
    deliver_again(link, ["2-0"], 1, idle_ms=60_000)
    deliver_again(link, ["4-0"], 1, consumer="d", idle_ms=60_000)
    part = PendingSlice("s", "g")
    assert ids_of(read_pending(link, part, min_idle_ms=50_000)) == ["2-0", "4-0"]
    assert ids_of(read_pending(link, part, consumer="d")) == ["4-0"]
    assert ids_of(read_pending(link, part, min_idle_ms=50_000, consumer="c")) == ["2-0"]


def test_an_entry_that_was_given_back_is_nobodys(rillway_link: Connection) -> None:
    pending_stream(rillway_link, count=1)
    rillway_link.call("XNACK", "s", "g", "FAIL", "IDS", 1, "1-0")
    [[entry]] = read_pending(rillway_link, PendingSlice("s", "g"))
    assert entry == PendingEntry(make_id(1), b"", None, 1)
    assert not entry.has_owner


@pytest.mark.parametrize("wanted", [1, 2, 3, 10, 50])
def test_slices_have_everything_once(link: Connection, wanted: int) -> None:
    pending_stream(link, count=10)
    parts = plan_pending(link, "s", "g", entries_per_slice=100, minimum=wanted)
    assert len(parts) == min(wanted, parse_id("10-0") - parse_id("1-0") + 1)
    assert [part for part in parts if part.last < part.first] == []
    found = [ids_of(read_pending(link, part)) for part in parts]
    expected = [f"{number}-0" for number in range(1, 11)]
    assert [entry_id for ids in found for entry_id in ids] == expected


def test_there_are_as_many_slices_as_entries_need(link: Connection) -> None:
    pending_stream(link, count=10)
    assert len(plan_pending(link, "s", "g", entries_per_slice=4)) == 3


def test_where_nothing_is_pending_there_is_nothing_to_read(link: Connection) -> None:
    add(link, "s", ["1-0"])
    link.call("XGROUP", "CREATE", "s", "g", "0")
    assert plan_pending(link, "s", "g", entries_per_slice=1) == []
    assert plan_pending(link, "s", "missing", entries_per_slice=1) == []
    assert plan_pending(link, "missing", "g", entries_per_slice=1) == []


def test_a_key_of_another_type_is_an_error(link: Connection) -> None:
    link.call("SET", "s", "v")
    with pytest.raises(ServerError, match="WRONGTYPE"):
        group_names(link, "s")
    with pytest.raises(ServerError, match="WRONGTYPE"):
        plan_pending(link, "s", "g", entries_per_slice=1)


def test_the_groups_of_a_stream_are_listed(link: Connection) -> None:
    add(link, "s", ["1-0"])
    link.call("XGROUP", "CREATE", "s", "b", "0")
    link.call("XGROUP", "CREATE", "s", "a", "0")
    assert group_names(link, "s") == ["a", "b"]
    assert group_names(link, "missing") == []


def test_the_server_says_what_time_it_is(link: Connection) -> None:
    before = link.call("TIME")
    assert server_time_ms(link) >= int(before[0]) * 1000 + int(before[1]) // 1000
