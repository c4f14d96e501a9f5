"""One sample as plain lines: for pipes, logs, and terminals without a screen. Pure."""

from __future__ import annotations

from dataclasses import replace

from rillway.text import short_duration
from rillway.top.screen import server_parts
from rillway.top.tables import View, consumer_table, group_table, stream_table
from rillway.top.text import (
    Line,
    safe,
)

UNLIMITED = 1_000_000
# Nothing is selected.
NO_LEVEL = -1


def listing(view: View) -> list[str]:
    """All streams, then the groups and consumers of each."""
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
    return lines


def _texts(lines: list[Line]) -> list[str]:
    return [line.text.rstrip() for line in lines]
