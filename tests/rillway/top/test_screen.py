"""Golden screens: fixed figures at several sizes, and after several keys.

`GOLDEN=write pytest tests/rillway/top/test_screen.py` writes them; look at them then.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from docs.screenshots import example_view
from rillway.sampler import ServerFigures
from rillway.top.screen import Screen, listing, server_parts
from rillway.top.state import Shown, State, press
from rillway.top.tables import View
from rillway.top.text import width

SCREENS = Path(__file__).parent / "screens"
SIZES = [(80, 24), (120, 36), (140, 40), (40, 10)]


def pressed(columns: int, rows: int, *keys: str) -> View:
    state = State(columns=columns, rows=rows)
    for key in keys:
        view = example_view(state)
        state = press(state, key, Shown(view.shown.streams, Screen(view).page))
    return example_view(state)


def check(name: str, screen: Screen) -> None:
    path = SCREENS / f"{name}.txt"
    if os.environ.get("GOLDEN") == "write":
        path.write_text(screen.text + "\n", encoding="utf-8")
    assert screen.text + "\n" == path.read_text(encoding="utf-8")


@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_a_screen_of_each_size(columns: int, rows: int) -> None:
    check(f"{columns}x{rows}", Screen(pressed(columns, rows)))


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("opened", ["enter", "down"]),
        ("group", ["enter", "down", "enter", "down"]),
        ("entries", ["e"]),
        ("clients", ["c"]),
        ("slow", ["l"]),
        ("keys", ["?"]),
        ("filter", ["/", "s", "h", "o", "p", ":", "1"]),
        ("nothing", ["/", "x", "x", "enter"]),
        ("by-length", ["4", "end"]),
        ("paused", ["p", "r"]),
    ],
)
def test_a_screen_after_keys(name: str, keys: list[str]) -> None:
    check(name, Screen(pressed(80, 24, *keys)))


def test_a_lost_connection_keeps_the_figures_and_says_since_when() -> None:
    view = replace(pressed(80, 24), lost="no connection since 12:00:01: refused")
    screen = Screen(view)
    assert screen.lines[1].text.strip() == "no connection since 12:00:01: refused"
    assert screen.lines[1].spans[0].style == "dead" and "orders" in screen.text


def test_before_the_first_figures_it_says_that_it_reads() -> None:
    screen = Screen(View(State(), Shown()))
    assert "reading ..." in screen.text
    empty = Screen(View(State(), Shown(), now_ms=1, db=2))
    assert "no streams in database 2" in empty.text
    refused = replace(
        View(State(), Shown(), now_ms=1), server=ServerFigures(refused={"SCAN": "NOPERM"})
    )
    assert "  NOPERM" in Screen(refused).text


def test_ascii_only_means_that() -> None:
    view = pressed(140, 40)
    assert Screen(replace(view, state=replace(view.state, ascii_only=True))).text.isascii()


def nightly(sizes: list[int], *quick: int) -> list[Any]:
    return [pytest.param(n, marks=() if n in quick else pytest.mark.thorough) for n in sizes]


@pytest.mark.parametrize("columns", nightly([1, 5, 20, 79, 119, 121, 300], 1, 79, 121))
@pytest.mark.parametrize("rows", nightly([1, 2, 5, 20, 36, 100], 1, 5, 36))
@pytest.mark.parametrize("keys", [[], ["enter"], ["enter", "enter"], ["?"]])
def test_whatever_the_size_lines_fill_it_exactly(columns: int, rows: int, keys: list[str]) -> None:
    lines = Screen(pressed(columns, rows, *keys)).lines
    assert len(lines) == rows
    assert {width(line.text) for line in lines} == {columns}


def test_what_is_visible_is_what_is_to_be_sampled_first() -> None:
    assert Screen(pressed(40, 10)).visible[:2] == [b"orders", b"emails"]
    assert Screen(pressed(80, 24, "enter")).visible == [b"orders"]


def test_control_characters_of_a_name_are_never_printed() -> None:
    for columns, rows in SIZES:
        assert "\x1b" not in Screen(pressed(columns, rows)).text


def test_troubles_of_the_server_stand_in_the_header() -> None:
    server = ServerFigures(
        error="LOADING", last_save_ok=False, primary="10.0.0.1:6379", primary_link_up=False
    )
    assert server_parts(server) == ["LOADING", "save FAILED", "link to the primary DOWN"]


def test_a_node_says_that_it_is_one_of_a_cluster() -> None:
    assert server_parts(ServerFigures(is_cluster_node=True)) == ["one node of a cluster"]


def test_all_streams_come_first_then_groups_and_consumers_of_each() -> None:
    lines = listing(replace(example_view(State(columns=119)), history=None))
    assert lines[0].startswith("127.0.0.1:6379  Rillway 0.1.0  primary  up 3d04h  12.4k requests/s")
    assert len([line for line in lines if line.startswith("  shop:")]) == 10
    assert len([line for line in lines if line.startswith("  GROUP of ")]) == 12
    [carla] = [line for line in lines if "carla" in line]
    assert carla.split() == ["carla", "DEAD", "2m04s", "4", "-12", "12", "to", "anna"]
    assert not [line for line in lines if line.startswith(">") or "\x1b" in line]
