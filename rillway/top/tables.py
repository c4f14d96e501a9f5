"""The parts of the screen: streams, groups, consumers, clients, slow requests, entries. Pure."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap

from rillway.queues.finder import Known
from rillway.sampler import ConsumerFigures, GroupFigures, ServerFigures, SlowRequest, StreamFigures
from rillway.sampler.trend import waits_sentences
from rillway.text import short_count, short_duration, short_size
from rillway.top.history import History
from rillway.top.state import COLUMNS, CONSUMERS, GROUPS, STREAMS, Shown, State
from rillway.top.text import (
    Line,
    Span,
    cut,
    latency,
    pad,
    safe,
    sparkline,
    width,
)

SPARK_CELLS = 9
MOST_SPARK_CELLS = 16
LEAST_NAME_CELLS = 14
VALUE_CELLS = 60


def local_clock(ms: int) -> str:
    return time.strftime("%H:%M:%S", time.localtime(ms / 1000))


@dataclass(frozen=True, slots=True)
class View:
    """Everything that a screen shows. `now_ms`: the estimated time of the server.

    `lost`: the reason and time of a lost connection. Without a history there are no sparklines.
    """

    state: State
    shown: Shown
    server: ServerFigures = field(default_factory=ServerFigures)
    history: History | None = None
    address: str = ""
    db: int = 0
    now_ms: int = 0
    known_streams: int = 0
    entries: Sequence[tuple[str, list[bytes]]] | None = None
    lost: str | None = None
    # None while they are looked for.
    queues: Sequence[Known] | None = None
    clock: Callable[[int], str] = local_clock

    def spark(self, stream: bytes, group: bytes | None, cells: int, span_ms: int) -> str:
        if self.history is None:
            return ""
        values = self.history.cells(stream, group, self.now_ms, span_ms, cells)
        return sparkline(values, ascii_only=self.state.ascii_only)


@dataclass(frozen=True, slots=True)
class Column:
    """A column. `keep`: without room, columns with the lowest number are dropped first."""

    heading: str
    cells: int
    keep: int
    right: bool = True


@dataclass(frozen=True, slots=True)
class Row:
    """A row. `is_selected`: the cursor is here; `is_opened`: the next table belongs to it.

    `mark`: follows the first cell and is never cut: colour alone is not enough.
    """

    cells: Sequence[str]
    is_selected: bool = False
    style: str = ""
    mark: str = ""
    is_opened: bool = False


# Shown if one of the rows has a policy.
_POLICY_COLUMNS = (Column("due", 6, 5), Column("delayed", 7, 5), Column("dead", 6, 5))


def table(
    columns: Sequence[Column], rows: Sequence[Row], cells: int, least: int = LEAST_NAME_CELLS
) -> list[Line]:
    """Return a heading and a line for each row. The first column takes the remaining room."""
    kept = list(range(len(columns)))
    while len(kept) > 1 and _needed(columns, kept) + least > cells:
        kept.remove(min(kept[1:], key=lambda number: columns[number].keep))
    first = max(cells - _needed(columns, kept), 1)

    def text(texts: Sequence[str], marker: str, mark: str = "") -> str:
        name = cut(texts[0], max(first - width(mark), 1)) + mark
        parts = [marker + pad(name, first)]
        for number in kept[1:]:
            column = columns[number]
            parts.append(pad(texts[number], column.cells, right=column.right))
        return cut(" ".join(parts), cells)

    heading = Line.of(text([column.heading for column in columns], "  "), "heading").fit(cells)
    return [heading, *(_row(row, text, cells) for row in rows)]


def _needed(columns: Sequence[Column], kept: Sequence[int]) -> int:
    return 2 + sum(columns[number].cells + 1 for number in kept[1:])


def _row(row: Row, text: Callable[[Sequence[str], str, str], str], cells: int) -> Line:
    marker = "> " if row.is_selected or row.is_opened else "  "
    style = "selected" if row.is_selected else row.style
    return Line.of(text(row.cells, marker, row.mark), style).fit(cells)


def window(position: int, count_of_rows: int, room: int) -> range:
    """Return the visible rows, including `position`; one line is reserved for "n more"."""
    if count_of_rows <= room:
        return range(count_of_rows)
    room = max(room - 1, 1)
    start = min(max(position - room // 2, 0), count_of_rows - room)
    return range(start, start + room)


def more(rows: range, count_of_rows: int, unread: int = 0) -> list[Line]:
    """Return `... 12 more above, 10,209 more below`, if there are."""
    texts = []
    if rows.start > 0:
        texts.append(f"{rows.start:,} more above")
    if rows.stop < count_of_rows:
        texts.append(f"{count_of_rows - rows.stop:,} more below")
    if unread:
        texts.append(f"{unread:,} not read yet")
    return [Line.of(f"  ... {', '.join(texts)}", "dim")] if texts else []


# -- streams, groups, consumers -----------------------------------------------------------------


def stream_table(view: View, cells: int, room: int) -> tuple[list[Line], list[bytes]]:
    """Return the table and the names of the streams shown. `room`: lines below the heading."""
    state, streams = view.state, view.shown.streams
    chosen = view.shown.stream(state)
    position = streams.index(chosen) if chosen is not None else 0
    unread = max(view.known_streams - len(streams), 0) if not state.filter else 0
    rows = window(position, len(streams), room - (1 if unread and len(streams) < room else 0))
    span, span_ms = _span(state)
    spark = min(max(cells - 82, 0) + SPARK_CELLS, MOST_SPARK_CELLS)
    has_policies = any(
        one.scheduled is not None or any(group.policy for group in one.groups or ())
        for one in streams
    )
    columns = [
        Column(_heading(state, 0), LEAST_NAME_CELLS, 9),
        *(
            Column(_heading(state, number), max(len(COLUMNS[number][0]) + 1, 6), keep)
            for number, keep in enumerate((8, 3, 5, 2, 9, 6, 4), start=1)
        ),
        *(_POLICY_COLUMNS if has_policies else ()),
        *_spark_column(view, span, spark),
    ]
    lines = table(
        columns,
        [
            _stream_row(streams[n], view, spark, span_ms, streams[n] is chosen, has_policies)
            for n in rows
        ],
        cells,
    )
    lines += more(rows, len(streams), unread)
    if not streams:
        lines.append(Line.of("  " + _nothing(view), "dim"))
    return lines[: room + 1], [streams[number].name for number in rows]


def _policy_numbers(
    one: StreamFigures | GroupFigures,
) -> tuple[int | None, int | None, int | None]:
    return one.due, one.delayed, one.dead_letters


def _policy_cells(one: StreamFigures | GroupFigures, has_policies: bool) -> list[str]:
    return [*map(short_count, _policy_numbers(one))] if has_policies else []


def _span(state: State) -> tuple[str, int]:
    """Return the span of a sparkline, in words and in ms."""
    return ("5min", 300_000) if state.columns >= 120 else ("2min", 120_000)


def _spark_column(view: View, span: str, cells: int) -> list[Column]:
    return [] if view.history is None else [Column(f"lag, {span}", cells, 2, right=False)]


def _nothing(view: View) -> str:
    if view.state.filter:
        return f"no stream has {view.state.filter!r} in its name: Esc shows all"
    for command in ("SCAN", "XINFO"):
        if command in view.server.refused:
            return safe(view.server.refused[command])
    if view.known_streams or not view.now_ms:
        return "reading ..."
    return f"no streams in database {view.db}"


def _heading(state: State, number: int) -> str:
    heading = COLUMNS[number][0]
    if number != state.sort:
        return heading
    grows = state.is_reversed != (number == 0)
    return heading + (("^" if grows else "v") if state.ascii_only else ("▴" if grows else "▾"))


def _stream_row(
    stream: StreamFigures,
    view: View,
    spark: int,
    span_ms: int,
    is_chosen: bool,
    has_policies: bool,
) -> Row:
    in_per_s = short_count(stream.in_per_s)
    if stream.in_is_estimate and stream.in_per_s is not None:
        in_per_s = f"~{in_per_s}"
    cells = [
        safe(stream.name),
        in_per_s,
        short_count(stream.out_per_s),
        short_count(stream.length),
        short_size(stream.memory_bytes),
        lag_text(stream.lag, bool(stream.groups)),
        short_count(stream.pending),
        short_duration(stream.oldest_ms),
        *_policy_cells(stream, has_policies),
        view.spark(stream.name, None, spark, span_ms),
    ]
    is_selected = is_chosen and view.state.level == STREAMS
    style = "warn" if stream.dead_count or stream.is_held else ""
    is_opened = is_chosen and view.state.level > STREAMS
    return Row(cells, is_selected, style, _mark(stream.dead_count, stream.is_held), is_opened)


def lag_text(lag: int | None, has_groups: bool) -> str:
    """Return the lag; `?` if the server does not know it, `-` if the stream has no groups."""
    return "?" if lag is None and has_groups else short_count(lag)


def group_table(view: View, cells: int, room: int) -> list[Line]:
    """Return a table of the groups of the selected stream."""
    stream, chosen = view.shown.stream(view.state), view.shown.group(view.state)
    if stream is None:
        return []
    groups = view.shown.groups(view.state)
    position = groups.index(chosen) if chosen is not None else 0
    rows = window(position, len(groups), room)
    span, span_ms = _span(view.state)
    has_policies = any(one.policy for one in groups)
    columns = [
        Column(f"GROUP of {safe(stream.name)}", LEAST_NAME_CELLS, 9),
        Column("lag", 6, 8),
        Column("pend", 6, 7),
        Column("oldest", 6, 5),
        Column("out/s", 6, 4),
        Column("consumers", 9, 1),
        *(_POLICY_COLUMNS if has_policies else ()),
        *_spark_column(view, span, SPARK_CELLS),
    ]
    shown = [
        Row(
            [
                safe(groups[n].name),
                lag_text(groups[n].lag, True),
                short_count(groups[n].pending),
                short_duration(groups[n].oldest_ms),
                short_count(groups[n].out_per_s),
                f"{groups[n].consumer_count:,}",
                *_policy_cells(groups[n], has_policies),
                view.spark(stream.name, groups[n].name, SPARK_CELLS, span_ms),
            ],
            groups[n] is chosen and view.state.level == GROUPS,
            _group_style(groups[n]),
            _mark(groups[n].dead_count, bool(groups[n].held)),
            groups[n] is chosen and view.state.level > GROUPS,
        )
        for n in rows
    ]
    lines = table(columns, shown, cells) + more(rows, len(groups))
    if not groups:
        lines.append(Line.of("  no groups" if stream.groups is not None else "  unknown", "dim"))
    return lines[: room + 1]


def _mark(dead: int | None, is_held: bool) -> str:
    """Return what must be seen whatever is cut: dead consumers, new entries that are held back."""
    return (f" {dead} DEAD" if dead else "") + (" HELD" if is_held else "")


def _group_style(group: GroupFigures) -> str:
    if group.dead_count:
        return "dead"
    return "warn" if group.held else ""


def wait_lines(view: View, cells: int) -> list[Line]:
    """Return lines about what the entries of the selected group wait for, if that is known."""
    stream, group = view.shown.stream(view.state), view.shown.group(view.state)
    if stream is None or group is None:
        return []
    texts = waits_sentences(stream, group)
    text = f"waiting: {', '.join(texts)}" if texts else ""
    wrapped = wrap(text, max(cells - 4, 10), subsequent_indent="  ")
    return [Line.of(f"  {part}", "dim").fit(cells) for part in wrapped]


def consumer_table(view: View, cells: int, room: int) -> list[Line]:
    """Return a table of the consumers of the selected group, the dead ones first."""
    group = view.shown.group(view.state)
    if group is None:
        return []
    members = sorted(group.consumers or (), key=lambda one: (not one.is_dead, one.name))
    names = [one.name for one in members]
    position = names.index(view.state.consumer) if view.state.consumer in names else 0
    waits = wait_lines(view, cells)
    rows = window(position, len(members), room - len(waits))
    columns = [
        Column(f"CONSUMER of {safe(group.name)}", LEAST_NAME_CELLS, 9),
        Column("idle", 6, 8),
        Column("pend", 6, 7),
        Column("moved", 6, 6),
        Column("", min(max(cells - 58, 14), 30), 1, right=False),
    ]
    is_level = view.state.level == CONSUMERS
    shown = [_consumer_row(members[n], group, is_level and n == position) for n in rows]
    lines = waits + table(columns, shown, cells) + more(rows, len(members))
    if not members:
        is_known = group.consumers is not None or not group.consumer_count
        lines.append(Line.of("  none" if is_known else "  reading ...", "dim"))
    return lines[: room + 1]


def _consumer_row(consumer: ConsumerFigures, group: GroupFigures, is_selected: bool) -> Row:
    takers: dict[str, int] = {}
    for move in group.moves:
        if move.giver == consumer.name:
            taker = "others" if move.taker is None else safe(move.taker)
            takers[taker] = takers.get(taker, 0) + move.entries
    went = ", ".join(f"{entries:,} to {taker}" for taker, entries in takers.items())
    moved = f"{consumer.moved:+,}" if consumer.moved else ""
    cells = [
        safe(consumer.name),
        short_duration(consumer.idle_ms),
        short_count(consumer.pending),
        moved,
        went,
    ]
    if consumer.is_dead:
        return Row(cells, is_selected, "dead", " DEAD")
    return Row(cells, is_selected)


# -- the server -------------------------------------------------------------------------------


def slow_text(slow: SlowRequest, clock: Callable[[int], str], cells: int) -> str:
    """Return `14 ms XRANGE audit - + 12:00:01 10.0.0.7`."""
    words = _words(slow)
    tail = f"  {clock(slow.time_ms)} {safe(slow.client).rpartition(':')[0]}".rstrip()
    return pad(f"{latency(slow.took_us)} {words}", cells - width(tail)) + tail


def _words(slow: SlowRequest) -> str:
    return " ".join(cut(safe(word), VALUE_CELLS) for word in slow.words)


def latency_lines(server: ServerFigures, cells: int) -> list[Line]:
    columns = [Column("LATENCY", 8, 9), *(Column(name, 7, 5) for name in ("p50", "p99", "p99.9"))]
    rows = [
        Row([name, latency(one.p50_us), latency(one.p99_us), latency(one.p999_us or one.max_us)])
        for name, one in server.latency.items()
    ]
    return table(columns, rows, cells, least=10)


def blocked_lines(server: ServerFigures, cells: int) -> list[Line]:
    lines = [Line.of(f"BLOCKED {short_count(server.blocked_clients)}", "heading")]
    lines += [Line.of(f"{n:,} {safe(name)}") for name, n in (server.blocked or {}).items()]
    return [line.fit(cells) for line in lines]


def file_lines(view: View, cells: int) -> list[Line]:
    """Return lines about files, replicas, and the primary of a replica."""
    server = view.server
    aof = server.aof or "unknown"
    texts = [f"aof {aof}" + (f" {short_size(server.aof_bytes)}" if server.aof_bytes else "")]
    if server.last_save_ms is not None:
        ago = short_duration(max(view.now_ms - server.last_save_ms, 0))
        texts.append(f"saved {ago} ago" if server.last_save_ok else "the last save FAILED")
    lines = [Line.of("FILES", "heading"), *map(Line.of, texts)]
    if server.primary is not None:
        state = "up" if server.primary_link_up else "DOWN"
        lines.append(Line.of(f"primary {server.primary} {state}"))
    for one in server.replicas or ():
        lag = "" if one.lag_s is None else f" {one.lag_s}s"
        lines.append(Line.of(f"replica {safe(one.address)} {safe(one.state)}{lag}"))
    return [line.fit(cells) for line in lines]


def slow_lines(view: View, cells: int, room: int) -> list[Line]:
    lines = [Line.of("SLOW", "heading").fit(cells)]
    for slow in view.server.slow[:room]:
        lines.append(Line.of(f"{latency(slow.took_us):>6} {_words(slow)}").fit(cells))
    return lines


# -- what fills the screen ----------------------------------------------------------------------


def client_lines(view: View, cells: int) -> list[Line]:
    """Return a table of CLIENT LIST, blocked clients marked by their command."""
    clients = view.server.client_list
    if clients is None:
        reason = view.server.refused.get("CLIENT", "above 1,000 clients they are not listed")
        return [Line.of(f"CLIENTS: {safe(reason)}", "heading")]
    columns = [
        Column(f"CLIENT, {len(clients):,}", LEAST_NAME_CELLS, 9),
        Column("name", 14, 6, right=False), Column("user", 10, 3, right=False),
        Column("age", 7, 4), Column("idle", 7, 5), Column("memory", 7, 2),
        Column("command", 16, 8, right=False),
    ]  # fmt: skip
    rows = [
        Row([
            safe(one.address), safe(one.name), safe(one.user), short_duration(one.age_s * 1000),
            short_duration(one.idle_s * 1000), short_size(one.memory_bytes),
            safe(one.command) + (" blocked" if "b" in one.flags else ""),
        ])
        for one in clients
    ]  # fmt: skip
    return table(columns, rows, cells)


def all_slow_lines(view: View, cells: int) -> list[Line]:
    if "SLOWLOG" in view.server.refused:
        return [Line.of(f"SLOW: {safe(view.server.refused['SLOWLOG'])}", "heading")]
    heading = "SLOW requests, newest first" if view.server.slow else "no slow requests"
    return [
        Line.of(f"  {heading}", "heading"),
        *(Line.of("  " + slow_text(one, view.clock, cells - 2)) for one in view.server.slow),
        *_hot_lines(view, cells),
    ]


def _hot_lines(view: View, cells: int) -> list[Line]:
    """Return the keys that HOTKEYS has found, if there is or was a session."""
    if not view.server.hot_keys:
        return []
    lines = [Line.of("  HOT keys, by time and network bytes", "heading")]
    for one in view.server.hot_keys:
        figures = f"{latency(one.took_us):>6} {short_size(one.net_bytes):>6}"
        lines.append(Line.of(f"  {figures}  {safe(one.name)}").fit(cells))
    return lines


def entry_lines(view: View, cells: int) -> list[Line]:
    """Return lines with the newest entries of the selected stream."""
    stream = view.shown.stream(view.state)
    name = safe(stream.name) if stream else ""
    lines = [Line.of(f"  ENTRY of {name}, newest first", "heading")]
    if view.entries is None:
        text = "reading ..., unless they are too large to be shown"
        return [*lines, Line.of(f"  {text}", "dim")]
    for entry_id, fields in view.entries:
        pairs = zip(fields[::2], fields[1::2], strict=False)
        texts = [f"{cut(safe(key), 30)}={cut(safe(value), VALUE_CELLS)}" for key, value in pairs]
        line = Line((Span(f"  {entry_id:<21}", "dim"), Span("  ".join(texts))))
        lines.append(line.fit(cells))
    return lines


KEYS: Mapping[str, str] = {
    "up down PgUp PgDn Home End": "move",
    "Enter, right": "open a stream: its groups; a group: its consumers",
    "Esc, left": "back",
    "/": "show only streams with this in their name",
    "1 to 8, s": "sort by a column, by the next one",
    "r": "sort the other way round",
    "Q": "queues of job frameworks",
    "e": "the newest entries of the stream",
    "c": "clients",
    "l": "slow requests",
    "d": "the next database with keys",
    "p": "pause: nothing is asked, nothing changes",
    "+ -": "more time, less time between samples",
    "q, Ctrl-C": "quit",
}
SIGNS = (
    "~ in/s is estimated from the length    ? the lag is unknown to the server",
    "DEAD: idle for long with entries pending    moved: claimed within a minute",
)


def key_lines(cells: int) -> list[Line]:
    lines = [Line.of("  KEYS", "heading")]
    lines += [Line.of(f"  {keys:<28}{meaning}").fit(cells) for keys, meaning in KEYS.items()]
    return lines + [Line.of(f"  {sign}", "dim").fit(cells) for sign in SIGNS]
