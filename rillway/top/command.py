"""`rillway top`: streams, groups and consumers of a server, live. It never writes to the server.

On a terminal it fills the screen until q; otherwise, and with `--once`, it prints one sample as
lines. With `--json` it prints an object for each sample. Exits with 0; 1 if there is no server, or
if the connection is lost with `--once` or `--json`; 2 for a bad argument.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import replace
from urllib.parse import urlsplit

from rillway.pipeline.cli.interruption import Interruption
from rillway.pipeline.wire.connection import Connection, ConnectionLost
from rillway.pipeline.wire.sampling import ROUND_SHARE, find_queues
from rillway.pipeline.wire.urls import public_url, with_database
from rillway.queues.finder import Finder
from rillway.sampler import Sampler
from rillway.top.arguments import parse_options
from rillway.top.feed import Feed, run_rounds
from rillway.top.history import History
from rillway.top.screen import Screen, listing
from rillway.top.state import Shown, State, arrange, press
from rillway.top.tables import View
from rillway.top.terminal import Terminal

PLAIN_COLUMNS = 119


def main(arguments: list[str]) -> int:
    """Show the server. Returns the exit status."""
    options = parse_options(arguments)
    options.ascii |= not sys.stdout.encoding.lower().startswith("utf")
    try:
        with Connection(with_database(options.url, options.db)) as connection:
            options.db = connection.database
            if options.json or options.once or not is_terminal():
                return print_samples(options, connection)
            return live(options, connection)
    except (ConnectionLost, OSError) as error:
        print(f"rillway top: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def is_terminal() -> bool:
    """Return True if the terminal can position the cursor."""
    is_dumb = os.environ.get("TERM", "dumb") == "dumb"
    return sys.stdin.isatty() and sys.stdout.isatty() and not is_dumb


# -- without a screen ---------------------------------------------------------------------------


def print_samples(options: argparse.Namespace, connection: Connection) -> int:
    """Print one sample; with --json and without --once, one after the other.

    Rates need two samples, so the first one is not printed.
    """
    sampler = make_sampler(options, share=ROUND_SHARE, every_consumer=True)
    finder = Finder(share=ROUND_SHARE)
    taken = 0

    def show() -> None:
        nonlocal taken
        taken += 1
        if taken == 1:
            return
        finder.begin_round()
        if not find_queues(connection, finder, interruption.wait):
            return
        if options.json:
            queues = [known.as_json() for known in finder.queues]
            print(json.dumps(sampler.as_json() | {"queues": queues}), flush=True)
            return
        streams = arrange(list(sampler.streams.values()), State())
        state = State(columns=PLAIN_COLUMNS, ascii_only=options.ascii)
        view = View(
            state, Shown(streams), sampler.server, address=address(options.url),
            db=options.db, now_ms=sampler.time_ms, queues=finder.queues,
        )  # fmt: skip
        print("\n".join(listing(view)), flush=True)

    with Interruption() as interruption:
        is_one = options.once or not options.json
        run_rounds(
            connection,
            sampler,
            show,
            lambda: not (is_one and taken == 2) and not interruption.wait(options.every),
        )
    return 0


# -- live ---------------------------------------------------------------------------------------


def live(options: argparse.Namespace, connection: Connection) -> int:
    state = State(every_s=options.every, ascii_only=options.ascii)
    feed = Feed(connection.url, make_sampler(options), connection)
    feed.start()
    try:
        with Terminal() as terminal:
            while not state.has_quit and not terminal.has_ended:
                state = watch(terminal, feed, state, options)
                if state.wants_database:
                    feed, state = next_database(feed, state, options)
    finally:
        feed.stop()
    return 0


def watch(terminal: Terminal, feed: Feed, state: State, options: argparse.Namespace) -> State:
    """Draw and handle keys until the user switches the database or quits."""
    history, due_s = History(), 0.0
    while not (state.has_quit or state.wants_database or terminal.has_ended):
        columns, rows = terminal.size
        state = replace(state, columns=columns, rows=rows)
        feed.is_paused = state.is_paused
        feed.wants_queues = state.view == "queues"
        view = make_view(feed, state, history, options)
        screen = Screen(view)
        terminal.draw(screen.lines)
        shown = Shown(view.shown.streams, screen.page)
        set_focus(feed, state, shown, screen.visible)
        # Redraw soon until there is something to see.
        due_s = time.monotonic() + (state.every_s if view.shown.streams else 0.1)
        for key in terminal.keys(due_s - time.monotonic()):
            state = press(state, key, shown)
    return state


def make_view(feed: Feed, state: State, history: History, options: argparse.Namespace) -> View:
    """Return a view of the present figures."""
    with feed.lock:
        sampler = feed.sampler
        sampler.every_s = state.every_s
        history.add(sampler.streams)
        return View(
            state=state,
            shown=Shown(arrange(list(sampler.streams.values()), state)),
            server=sampler.server,
            history=history,
            address=address(feed.url),
            db=sampler.db,
            now_ms=feed.now_ms,
            known_streams=sampler.known_streams,
            entries=sampler.entries,
            lost=feed.lost,
            queues=feed.finder.queues if feed.finder.has_passed else None,
        )


def set_focus(feed: Feed, state: State, shown: Shown, visible: list[bytes]) -> None:
    """Sample the streams on the screen first, the selected one with all its consumers."""
    stream = shown.stream(state)
    opened = [stream.name] if stream is not None else []
    entries_of = stream.name if stream is not None and state.view == "entries" else None
    feed.focus(visible, opened, entries_of)


def next_database(feed: Feed, state: State, options: argparse.Namespace) -> tuple[Feed, State]:
    """Switch to the next database with keys, on a connection of its own."""
    state = replace(state, wants_database=False)
    with feed.lock:
        numbers = sorted(feed.sampler.server.databases)
    later = [number for number in numbers if number > options.db] or numbers[:1]
    if not later or later == [options.db]:
        return feed, state
    url = with_database(options.url, later[0])
    try:
        connection = Connection(url)
    except ConnectionLost:
        return feed, state
    feed.stop()
    options.db = later[0]
    feed = Feed(url, make_sampler(options), connection)
    feed.start()
    return feed, replace(state, level=0, stream=None, group=None, consumer=None, view="")


# -- arguments ------------------------------------------------------------------------------------


def make_sampler(options: argparse.Namespace, **others: float) -> Sampler:
    return Sampler(
        match=None if options.match is None else options.match.encode(),
        db=options.db,
        dead_after_s=options.dead_after,
        **others,  # type: ignore[arg-type]
    )


def address(url: str) -> str:
    """Return `127.0.0.1:6379`, or the path of a socket, without user and password."""
    parts = urlsplit(public_url(url))
    return parts.path if parts.scheme == "unix" else parts.netloc.rpartition("@")[2]
