"""Renders state and figures as the lines of a screen, or as plain lines. Pure.

Below 120 columns, tables are stacked; from 120 on, groups and consumers are beside the streams, and
from 36 lines on, latency, blocked clients, files and slow requests are below.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest

from rillway.sampler import ServerFigures
from rillway.text import short_count, short_duration, short_size
from rillway.top import tables
from rillway.top.queue_table import queue_lines
from rillway.top.state import CONSUMERS, GROUPS, STREAMS
from rillway.top.tables import View, consumer_table, group_table, stream_table
from rillway.top.text import (
    Line,
    Span,
    cut,
    safe,
    width,
)

WIDE_COLUMNS = 120
TALL_ROWS = 36
# With fewer lines for tables, one is shown at a time.
LEAST_ROWS = 14
GROUPS_BELOW = 3
CONSUMERS_BELOW = 4
PANE_ROWS = 5
FOOTER = "q quit  / filter  s sort  r reverse  Enter open  Esc back  p pause  ? keys"


class Screen:
    """A screen. `lines`: one for each row; `visible`: the names of the streams shown."""

    def __init__(self, view: View) -> None:
        state = view.state
        self.visible: list[bytes] = []
        self._view = view
        self._cells = state.columns
        header_rows = 1 if self._cells >= WIDE_COLUMNS and not view.lost else 2
        footer = [self._footer()] if state.rows > 4 else []
        room = max(state.rows - header_rows - len(footer), 1)
        body = self._body(room)[:room]
        body += [Line()] * (room - len(body))
        self.page = max(room - 4, 1)
        lines = [*self._header(), *body, *footer]
        self.lines = [line.fit(self._cells) for line in lines[: state.rows]]

    @property
    def text(self) -> str:
        return "\n".join(line.text.rstrip() for line in self.lines)

    # -- header and footer ------------------------------------------------------------------------

    def _header(self) -> list[Line]:
        view = self._view
        server = view.server
        first = [f"rillway top {safe(view.address)}"]
        if server.product:
            first.append(f"{server.product} {safe(server.version)}")
        first += [safe(server.role)] if server.role else []
        if server.uptime_s is not None:
            first.append(f"up {short_duration(server.uptime_s * 1000)}")
        if view.db:
            first.insert(1, f"db {view.db}")
        second = server_parts(server)
        if view.lost:
            return [self._line(first, "title", ""), Line.of(f"  {view.lost}", "dead")]
        if self._cells >= WIDE_COLUMNS:
            return [self._line(first + second, "title", self._age())]
        return [self._line(first, "title", self._age()), self._line(second, "", "")]

    def _age(self) -> str:
        """Return the age of the oldest figure on the screen, and the server's time."""
        view = self._view
        if view.state.is_paused:
            return "PAUSED"
        if not view.now_ms:
            return ""
        sampled = [one.time_ms for one in view.shown.streams if one.name in self.visible]
        old = f"{short_duration(max(view.now_ms - min(sampled), 0))} old  " if sampled else ""
        return old + view.clock(view.now_ms)

    def _line(self, parts: list[str], style: str, tail: str) -> Line:
        """Join as many parts as fit."""
        room = self._cells - width(tail) - 2
        text = cut(parts[0], room) if parts else ""
        for part in parts[1:]:
            if width(text) + 2 + width(part) > room:
                break
            text += f"  {part}"
        blanks = " " * max(self._cells - width(text) - width(tail), 0)
        return Line((Span(text, style), Span(blanks), Span(tail)))

    def _footer(self) -> Line:
        state = self._view.state
        if state.is_filtering:
            return Line.of(
                f" filter: {safe(state.filter)}_   Enter keeps it, Esc shows all", "title"
            )
        text = f" {FOOTER}"
        if state.filter:
            text = f" filter {safe(state.filter)!r}: Esc shows all  " + FOOTER
        return Line.of(text, "dim")

    # -- body -------------------------------------------------------------------------------------

    def _body(self, room: int) -> list[Line]:
        view, state = self._view, self._view.state
        if view.server.error and not view.now_ms:
            return [Line.of(f"  {safe(view.server.error)}", "warn")]
        if state.view:
            return self._scrolled(self._filling(), room)
        if self._cells >= WIDE_COLUMNS:
            return self._wide(room)
        return self._narrow(room)

    def _filling(self) -> list[Line]:
        view = self._view
        if view.state.view == "keys":
            return tables.key_lines(self._cells)
        fillings = {
            "queues": queue_lines,
            "entries": tables.entry_lines,
            "clients": tables.client_lines,
            "slow": tables.all_slow_lines,
        }
        return fillings[view.state.view](view, self._cells)

    def _scrolled(self, lines: list[Line], room: int) -> list[Line]:
        heading, *rest = lines
        start = min(self._view.state.scroll, max(len(rest) - room + 1, 0))
        return [heading, *rest[start:]]

    def _streams(self, cells: int, room: int) -> list[Line]:
        lines, self.visible = tables.stream_table(self._view, cells, room)
        return lines

    def _narrow(self, room: int) -> list[Line]:
        """Stack the tables; the opened one gets the room."""
        view, cells, level = self._view, self._cells, self._view.state.level
        if room < LEAST_ROWS:
            return self._alone(room - 1)
        slow = list(view.server.slow[:1]) if level == STREAMS else []
        below = [
            Line.of("  SLOW  " + tables.slow_text(one, view.clock, cells - 8), "dim")
            for one in slow
        ]
        room -= 3 + len(below)
        group = view.shown.group(view.state)
        groups, members = len(view.shown.groups(view.state)), len((group and group.consumers) or ())
        if level == STREAMS:
            rows_of_groups = min(max(groups, 1), GROUPS_BELOW)
            waits = len(tables.wait_lines(view, cells))
            rows_of_consumers = min(max(members, 1), CONSUMERS_BELOW) + waits if group else 0
            # The lines that the streams do not need.
            spare = room - rows_of_groups - rows_of_consumers - len(view.shown.streams) - 1
            more_groups = min(max(groups - rows_of_groups, 0), max(spare, 0))
            rows_of_groups += more_groups
            rows_of_consumers += min(
                max(members + waits - rows_of_consumers, 0), max(spare - more_groups, 0)
            )
        else:
            rows_of_groups = min(max(groups, 1), room // 2) if level == GROUPS else 1
            rows_of_consumers = room - rows_of_groups - 1
        rows_of_streams = max(room - rows_of_groups - rows_of_consumers, 1)
        streams = self._streams(cells, rows_of_streams if level == STREAMS else 2)
        if level != STREAMS:
            streams = self._only_chosen(streams)
        streams += [Line()] * (rows_of_streams + 1 - len(streams)) if level == STREAMS else []
        return [
            *streams,
            *tables.group_table(view, cells, rows_of_groups),
            *tables.consumer_table(view, cells, rows_of_consumers),
            *below,
        ]

    def _only_chosen(self, streams: list[Line]) -> list[Line]:
        """Return the heading and the line of the opened stream."""
        view = self._view
        chosen = view.shown.stream(view.state)
        if chosen is None:
            return streams
        self.visible = [chosen.name]
        shown = type(view.shown)([chosen], view.shown.page)
        alone = View(view.state, shown, history=view.history, now_ms=view.now_ms)
        return tables.stream_table(alone, self._cells, 1)[0]

    def _alone(self, room: int) -> list[Line]:
        view, level = self._view, self._view.state.level
        if level == STREAMS:
            return self._streams(self._cells, room)
        if level == CONSUMERS:
            return tables.consumer_table(view, self._cells, room)
        return tables.group_table(view, self._cells, room)

    def _wide(self, room: int) -> list[Line]:
        """Place streams on the left, groups and consumers on the right, the server below."""
        view = self._view
        panes = self._panes() if self._view.state.rows >= TALL_ROWS else []
        room -= len(panes) + 1
        left = self._cells * 56 // 100
        right = self._cells - left - 3
        groups = tables.group_table(view, right, max(room // 2 - 1, 1))
        consumers = tables.consumer_table(view, right, max(room - len(groups) - 1, 1))
        streams = self._streams(left, room)
        return beside([streams, groups + consumers], [left, right], room + 1) + panes

    def _panes(self) -> list[Line]:
        view = self._view
        widths = [38, 18, 26]
        widths.append(self._cells - sum(widths) - 3 * len(widths))
        panes = [
            tables.latency_lines(view.server, widths[0]),
            tables.blocked_lines(view.server, widths[1]),
            tables.file_lines(view, widths[2]),
            tables.slow_lines(view, widths[3], PANE_ROWS - 1),
        ]
        return beside(panes, widths, PANE_ROWS)


def beside(panes: list[list[Line]], widths: list[int], rows: int) -> list[Line]:
    """Place panes side by side, with a rule between them."""
    found = []
    for lines in zip_longest(*(pane[:rows] for pane in panes), [Line()] * rows, fillvalue=Line()):
        first, *others = [line.fit(cells) for line, cells in zip(lines, widths, strict=False)]
        for other in others:
            first = first.then(Line.of(" | ", "dim"), other)
        found.append(first)
    return found


def server_parts(server: ServerFigures) -> list[str]:
    """Return `12.4k/s`, `mem 1.2G of 4.0G`, `clients 212, 48 blocked`, `replicas 2, 0s`."""
    parts = ["one node of a cluster"] if server.is_cluster_node else []
    if server.requests_per_s is not None:
        parts.append(f"{short_count(server.requests_per_s)} requests/s")
    if server.used_memory_bytes is not None:
        limit = f" of {short_size(server.max_memory_bytes)}" if server.max_memory_bytes else ""
        parts.append(f"mem {short_size(server.used_memory_bytes)}{limit}")
    if server.clients is not None:
        blocked = f", {server.blocked_clients:,} blocked" if server.blocked_clients else ""
        parts.append(f"clients {server.clients:,}{blocked}")
    if server.error:
        parts.append(safe(server.error))
    if server.aof is not None:
        parts.append(f"aof {server.aof}")
    if server.last_save_ok is False:
        parts.append("save FAILED")
    if server.primary is not None and not server.primary_link_up:
        parts.append("link to the primary DOWN")
    if server.replicas:
        lags = [one.lag_s for one in server.replicas if one.lag_s is not None]
        parts.append(f"replicas {len(server.replicas)}" + (f", {max(lags)}s" if lags else ""))
    return parts


UNLIMITED = 1_000_000
# Nothing is selected.
NO_LEVEL = -1


def listing(view: View) -> list[str]:
    """Return one sample as plain lines: all streams, then the groups and consumers of each."""
    view = replace(view, state=replace(view.state, level=NO_LEVEL))
    server, cells = view.server, view.state.columns
    first = [f"{server.product} {safe(server.version)}".strip(), safe(server.role)]
    if server.uptime_s is not None:
        first.append(f"up {short_duration(server.uptime_s * 1000)}")
    parts = [view.address, *filter(None, first), *server_parts(server)]
    lines = ["  ".join(parts), "", *_texts(stream_table(view, cells, UNLIMITED)[0])]
    for stream in view.shown.streams:
        of_stream = replace(view, state=replace(view.state, stream=stream.name))
        if stream.groups:
            lines += ["", *_texts(group_table(of_stream, cells, UNLIMITED))]
        for group in view.shown.groups(of_stream.state):
            if group.consumer_count:
                state = replace(of_stream.state, group=group.name)
                lines += _texts(consumer_table(replace(of_stream, state=state), cells, UNLIMITED))
            else:
                lines += _texts(tables.wait_lines(of_stream, cells))
    if view.queues:
        lines += ["", *_texts(queue_lines(view, cells))]
    return lines


def _texts(lines: list[Line]) -> list[str]:
    return [line.text.rstrip() for line in lines]
