"""Tables: columns that fit, and windows of rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from docs.screenshots import example_server, example_view
from rillway.sampler import GroupFigures, ServerFigures, StreamFigures
from rillway.sampler.figures import HotKey
from rillway.sampler.waits import policy_figures
from rillway.top.screen import Screen, listing
from rillway.top.state import Shown, State
from rillway.top.tables import (
    Column,
    Row,
    View,
    all_slow_lines,
    client_lines,
    entry_lines,
    lag_text,
    local_clock,
    more,
    slow_text,
    table,
    window,
)

COLUMNS = [Column("NAME", 14, 9), Column("a", 4, 2), Column("b", 4, 1)]


def texts(cells: int) -> list[str]:
    rows = [Row(["first", "1", "2"], is_selected=True), Row(["x" * 30, "1", "2"], mark=" DEAD")]
    return [line.text.rstrip() for line in table(COLUMNS, rows, cells)]


def test_columns_that_matter_least_go_first() -> None:
    assert texts(26) == [
        "  NAME              a    b",
        "> first             1    2",
        "  xxxxxxxx~ DEAD    1    2",
    ]
    assert texts(22)[0] == "  NAME               a"
    assert texts(15)[2] == "  xxxxxxx~ DEAD"


@pytest.mark.parametrize(
    ("position", "count", "room", "shown"),
    [(0, 5, 5, (0, 5)), (0, 9, 5, (0, 4)), (8, 9, 5, (5, 9)), (4, 9, 5, (2, 6)), (0, 9, 1, (0, 1))],
)
def test_the_row_at_the_position_is_shown(
    position: int, count: int, room: int, shown: tuple[int, int]
) -> None:
    assert window(position, count, room) == range(*shown)


def test_what_is_not_shown_is_counted() -> None:
    assert [line.text for line in more(range(2, 4), 10_213)] == [
        "  ... 2 more above, 10,209 more below"
    ]
    assert more(range(4), 4) == []
    assert "3 not read yet" in more(range(4), 4, 3)[0].text


def test_an_unknown_lag_is_told_from_no_groups() -> None:
    assert [lag_text(None, True), lag_text(None, False), lag_text(0, True)] == ["?", "-", "0"]


def test_a_slow_request_keeps_its_time_where_its_words_are_cut() -> None:
    slow = example_server().slow[0]
    text = slow_text(slow, lambda ms: "12:00:01", 44)
    assert text == "14 ms XRANGE audit ~  12:00:01 10.0.0.7"[:18] + text[18:]
    assert len(text) == 44 and text.endswith("12:00:01 10.0.0.7")


def test_what_the_user_may_not_see_is_said() -> None:
    server = ServerFigures(refused={"CLIENT": "NOPERM clients", "SLOWLOG": "NOPERM slow"})
    view = replace(example_view(State()), server=server, entries=None)
    assert "NOPERM clients" in client_lines(view, 80)[0].text
    assert "NOPERM slow" in all_slow_lines(view, 80)[0].text
    assert "reading ..." in entry_lines(view, 80)[1].text


def test_hot_keys_are_below_the_slow_requests() -> None:
    server = ServerFigures(hot_keys=(HotKey(b"cart:\x1b", 14_000, 2048), HotKey(b"b", None, 5)))
    view = replace(example_view(State()), server=server)
    lines = [line.text.rstrip() for line in all_slow_lines(view, 80)]
    assert lines[0] == "  no slow requests"
    assert lines[1] == "  HOT keys, by time and network bytes"
    assert "14 ms" in lines[2] and lines[2].endswith("cart:\\x1b")
    assert lines[3].split() == ["-", "5", "B", "b"] or lines[3].split() == ["-", "5", "b"]


def test_clock_times_are_local() -> None:
    assert len(local_clock(1_795_608_005_000)) == 8
    assert View(State(), None).clock is local_clock  # type: ignore[arg-type]


def jobs_view(columns: int, rows: int = 24) -> View:
    policy = {
        "ack-wait": 1000, "max-pending": 4, "held": 1, "due": 1, "before-deadline": 3,
        "dead-lettered": 12, "in-pause": 0,
    }  # fmt: skip
    group = GroupFigures(b"workers", 9, 4, 0, "0-0", **policy_figures(policy, 9))
    stream = StreamFigures(0, b"jobs", 5000, 20, groups=(group,), scheduled=2)
    return View(State(columns, rows), Shown([stream]), now_ms=5000)


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (140, 40)])
def test_policies_have_columns_and_lines(columns: int, rows: int) -> None:
    text = Screen(jobs_view(columns=columns, rows=rows)).text
    heading, stream = (line for line in text.splitlines() if "STREAM" in line or "jobs" in line[:9])
    assert stream.startswith("> jobs HELD")
    assert heading.split("due")[1].split()[:2] == ["delayed", "dead"]
    assert "workers HELD" in text
    assert "  waiting: 1 for a read, 9 for room (MAX-PENDING 4" in text
    assert "their time (DELAY)" in text


def test_policies_are_in_plain_lines() -> None:
    lines = listing(jobs_view(columns=120))
    assert lines[3].split()[-3:] == ["1", "2", "12"]
    assert lines[-1] == (
        "  waiting: 1 for a read, 9 for room (MAX-PENDING 4 is reached), 3 for a deadline, 2 for"
        " their time (DELAY)"
    )
