"""Keys to state."""

from __future__ import annotations

import pytest

from rillway.sampler import ConsumerFigures, GroupFigures, StreamFigures
from rillway.top.state import CONSUMERS, GROUPS, STREAMS, Shown, State, arrange, press


def group(name: str, *consumers: str, lag: int = 0) -> GroupFigures:
    members = tuple(ConsumerFigures(one.encode(), 1, 5) for one in consumers)
    return GroupFigures(name.encode(), lag, 0, 0, "0-0", consumers=members)


def stream(name: str, length: int, lag: int | None = 0, *groups: GroupFigures) -> StreamFigures:
    return StreamFigures(0, name.encode(), 0, length, lag=lag, groups=groups)


STREAMS_SHOWN = [
    stream("a", 5, 2, group("g", "x", "y"), group("h", lag=3)),
    stream("b", 9, None),
    stream("c", 7, 1),
]


def after(*keys: str, state: State | None = None, page: int = 10) -> State:
    state = state or State(sort=0)
    for key in keys:
        state = press(state, key, Shown(arrange(STREAMS_SHOWN, state), page))
    return state


def order(state: State) -> str:
    return "".join(one.name.decode() for one in arrange(STREAMS_SHOWN, state))


def test_the_cursor_moves_and_stays_within_the_rows() -> None:
    assert after("down").stream == b"b"
    assert after("up").stream == b"a"
    assert after("end", "down").stream == b"c"
    assert after("j", "j", "k").stream == b"b"
    assert after("pgdn", page=2).stream == b"c"
    assert after("end", "pgup", "home").stream == b"a"


def test_enter_opens_and_escape_goes_back() -> None:
    opened = after("enter")
    assert (opened.level, opened.stream) == (GROUPS, b"a")
    assert opened.group == b"h"  # the worst one
    inside = after("up", "enter", state=opened)
    assert (inside.level, inside.group) == (CONSUMERS, b"g")
    assert after("down", "down", state=inside).consumer == b"y"
    assert after("enter", state=inside).level == CONSUMERS
    assert after("esc", "esc", "esc", state=inside).level == STREAMS


def test_what_has_no_rows_cannot_be_opened_further() -> None:
    assert after("down", "enter", "enter").level == GROUPS


def test_columns_sort_by_number_and_a_second_time_the_other_way_round() -> None:
    assert order(after("4")) == "bca"
    assert order(after("4", "4")) == "acb"
    assert order(after("6")) == "acb"
    assert order(after("1")) in ("abc", "cba")
    assert after("s").sort == 1 and after(*"ssssssss").sort == 0
    assert order(after("r")) == "cba"


def test_equal_figures_are_sorted_by_name() -> None:
    assert order(after("8")) == "abc"


def test_a_filter_is_typed_kept_and_dropped() -> None:
    typing = after("/", "q", "backspace", "b")
    assert typing.is_filtering and typing.filter == "b" and not typing.has_quit
    assert order(typing) == "b"
    assert after("enter", state=typing).filter == "b"
    assert after("enter", "esc", state=typing).filter == ""
    assert after("esc", state=typing).filter == ""
    assert after("/", "up").filter == ""


@pytest.mark.parametrize(
    ("key", "view"), [("e", "entries"), ("c", "clients"), ("l", "slow"), ("?", "keys")]
)
def test_views_open_and_close_with_their_key_or_escape(key: str, view: str) -> None:
    assert after(key).view == view
    assert after(key, key).view == after(key, "esc").view == ""
    assert after(key, "down", "down", "up").scroll == 1
    assert after(key, "home").scroll == 0


def test_switches() -> None:
    assert after("p").is_paused and not after("p", "p").is_paused
    assert after("d").wants_database
    assert after("q").has_quit
    assert after("+").every_s == 2 and after("-").every_s == 0.5
    assert after("-", "-", "-").every_s == 0.5 and after(*"++++++++").every_s == 60


def test_an_unknown_key_does_nothing() -> None:
    assert after("x", "9", "0", "left") == State(sort=0)


def test_a_selected_stream_that_is_gone_is_replaced_by_the_first() -> None:
    state = State(stream=b"gone")
    chosen = Shown(STREAMS_SHOWN).stream(state)
    assert chosen is not None and chosen.name == b"a"
    assert Shown().stream(state) is None and Shown().group(state) is None
    assert press(state, "enter", Shown()) == press(state, "down", Shown()) == state
