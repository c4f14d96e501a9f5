"""The state of the screen, and the effect of each key. Pure: no terminal, no clock.

`press` takes a key by its name: a character, or `up`, `down`, `left`, `right`, `pgup`, `pgdn`,
`home`, `end`, `enter`, `esc`, `backspace`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rillway.sampler import GroupFigures, StreamFigures
from rillway.top.text import safe

INTERVALS_S = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
# The columns of streams, in the order of the keys 1 to 9: heading, attribute.
COLUMNS = (
    ("STREAM", "name"),
    ("in/s", "in_per_s"),
    ("out/s", "out_per_s"),
    ("length", "length"),
    ("memory", "memory_bytes"),
    ("lag", "lag"),
    ("pend", "pending"),
    ("oldest", "oldest_ms"),
)
STREAMS, GROUPS, CONSUMERS = 0, 1, 2
VIEWS = {"Q": "queues", "e": "entries", "c": "clients", "l": "slow", "?": "keys"}


@dataclass(frozen=True, slots=True)
class State:
    """The state. `level`: the table of the cursor: STREAMS, GROUPS or CONSUMERS.

    `view`: what fills the screen instead of tables: queues, entries, clients, slow, keys.
    `scroll`: the number of lines scrolled past in it. `wants_database`: the next database should
    be shown.
    """

    columns: int = 80
    rows: int = 24
    every_s: float = 1.0
    ascii_only: bool = False
    level: int = STREAMS
    stream: bytes | None = None
    group: bytes | None = None
    consumer: bytes | None = None
    sort: int = 1
    is_reversed: bool = False
    filter: str = ""
    is_filtering: bool = False
    is_paused: bool = False
    view: str = ""
    scroll: int = 0
    wants_database: bool = False
    has_quit: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """The rows of the level, in order, and how many fit on a page."""

    streams: Sequence[StreamFigures] = ()
    page: int = 10

    def stream(self, state: State) -> StreamFigures | None:
        """Return the selected stream; the first one if that was removed."""
        chosen = next((one for one in self.streams if one.name == state.stream), None)
        return chosen or next(iter(self.streams), None)

    def groups(self, state: State) -> Sequence[GroupFigures]:
        stream = self.stream(state)
        return sorted((stream and stream.groups) or (), key=lambda one: one.name)

    def group(self, state: State) -> GroupFigures | None:
        """Return the selected group; otherwise the worst."""
        groups = self.groups(state)
        chosen = next((one for one in groups if one.name == state.group), None)
        return chosen or max(groups, key=_badness, default=None)

    def names(self, state: State) -> list[bytes]:
        """Return the names of the rows in which the cursor can be."""
        if state.level == STREAMS:
            return [one.name for one in self.streams]
        if state.level == GROUPS:
            return [one.name for one in self.groups(state)]
        group = self.group(state)
        return [one.name for one in (group and group.consumers) or ()]


def _badness(group: GroupFigures) -> tuple[int, int, int]:
    return group.dead_count or 0, group.oldest_ms or 0, group.lag or 0


def arrange(streams: Sequence[StreamFigures], state: State) -> list[StreamFigures]:
    """Return streams that match the filter, the largest first, equal ones by name; unknown is 0."""
    wanted = state.filter.lower()
    found = [one for one in streams if not wanted or wanted in safe(one.name).lower()]
    found.sort(key=lambda one: one.name, reverse=state.sort == 0 and state.is_reversed)
    if state.sort > 0:
        attribute = COLUMNS[state.sort][1]
        sign = 1 if state.is_reversed else -1
        found.sort(key=lambda one: sign * (getattr(one, attribute) or 0))
    return found


def press(state: State, key: str, shown: Shown) -> State:
    """Return the state after a key."""
    if state.is_filtering:
        return _type(state, key)
    if key == "q":
        return replace(state, has_quit=True)
    if key in VIEWS:
        view = "" if state.view == VIEWS[key] else VIEWS[key]
        return replace(_settle(state, shown), view=view, scroll=0)
    if state.view:
        return _scroll(state, key, shown)
    if key in MOVES:
        return _move(state, MOVES[key], shown)
    if key in ("enter", "right"):
        return _open(state, shown)
    if key in ("esc", "left", "backspace"):
        return _back(state, key)
    if key.isdecimal() and 1 <= int(key) <= len(COLUMNS):
        column = int(key) - 1
        return replace(
            state, sort=column, is_reversed=column == state.sort and not state.is_reversed
        )
    return _set(state, key)


def _set(state: State, key: str) -> State:
    if key == "/":
        return replace(state, is_filtering=True, level=STREAMS, filter="")
    if key == "s":
        return replace(state, sort=(state.sort + 1) % len(COLUMNS), is_reversed=False)
    if key == "r":
        return replace(state, is_reversed=not state.is_reversed)
    if key in ("p", " "):
        return replace(state, is_paused=not state.is_paused)
    if key == "d":
        return replace(state, wants_database=True)
    if key in ("+", "-"):
        return replace(state, every_s=_next_interval(state.every_s, 1 if key == "+" else -1))
    return state


def _next_interval(every_s: float, step: int) -> float:
    longer = [one for one in INTERVALS_S if (one - every_s) * step > 0]
    return min(longer, key=lambda one: abs(one - every_s), default=every_s)


def _type(state: State, key: str) -> State:
    """Return the state after a key while the filter is being typed."""
    if key == "esc":
        return replace(state, is_filtering=False, filter="")
    if key == "enter":
        return replace(state, is_filtering=False)
    if key == "backspace":
        return replace(state, filter=state.filter[:-1])
    return replace(state, filter=state.filter + key) if len(key) == 1 else state


# -- moving -----------------------------------------------------------------------------------

MOVES = {
    "up": "-1", "down": "+1", "k": "-1", "j": "+1", "pgup": "-page", "pgdn": "+page",
    "home": "first", "end": "last",
}  # fmt: skip


def _target(position: int, move: str, page: int, count: int) -> int:
    if move == "first":
        return 0
    if move == "last":
        return count - 1
    step = page if move.endswith("page") else 1
    return min(max(position + (-step if move[0] == "-" else step), 0), count - 1)


def _move(state: State, move: str, shown: Shown) -> State:
    names = shown.names(state)
    if not names:
        return state
    current = _current(state, shown)
    position = names.index(current) if current in names else 0
    name = names[_target(position, move, shown.page, len(names))]
    if state.level == STREAMS:
        return replace(state, stream=name, group=None, consumer=None)
    if state.level == GROUPS:
        return replace(state, group=name, consumer=None)
    return replace(state, consumer=name)


def _current(state: State, shown: Shown) -> bytes | None:
    if state.level == STREAMS:
        stream = shown.stream(state)
        return stream.name if stream else None
    if state.level == GROUPS:
        group = shown.group(state)
        return group.name if group else None
    return state.consumer


def _settle(state: State, shown: Shown) -> State:
    """Store the names of the selected rows, so that the selection stays when the order changes."""
    stream, group = shown.stream(state), shown.group(state)
    settled = replace(state, stream=stream.name if stream else None)
    return replace(settled, group=group.name if group and state.level else state.group)


def _open(state: State, shown: Shown) -> State:
    if state.level == CONSUMERS or not shown.names(state):
        return state
    level = state.level + 1
    return _settle(replace(state, level=level), shown)


def _back(state: State, key: str) -> State:
    if state.level > STREAMS:
        return replace(state, level=state.level - 1)
    return replace(state, filter="") if key == "esc" else state


def _scroll(state: State, key: str, shown: Shown) -> State:
    if key in ("esc", "left", "backspace", "enter"):
        return replace(state, view="", scroll=0)
    if key in MOVES and MOVES[key] != "last":
        return replace(state, scroll=max(_target(state.scroll, MOVES[key], shown.page, 10_000), 0))
    return _set(state, key) if key in "p d+-" else state
