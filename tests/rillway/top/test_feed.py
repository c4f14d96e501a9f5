"""A sampler that is driven in a thread, over a connection that gets lost."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from rillway.pipeline.wire.connection import Connection
from rillway.sampler import Sampler
from rillway.top.feed import Feed, run_rounds
from tests.support.programs.servers import start_rillway
from tests.support.waiting import until

pytestmark = pytest.mark.integration


def test_a_lost_connection_is_said_and_opened_again_and_the_figures_stay(tmp_path: Path) -> None:
    server = start_rillway(tmp_path)
    url = f"redis://127.0.0.1:{server.port}"
    with Connection(url) as link:
        link.call("XADD", "s", "*", "n", "1")
    feed = Feed(url, Sampler(), Connection(url))
    feed.start()
    try:
        until(lambda: b"s" in feed.sampler.streams)
        assert feed.lost is None and feed.now_ms > 10**12
        server.stop()
        until(lambda: feed.lost is not None)
        assert feed.lost is not None and feed.lost.startswith("no connection since ")
        assert b"s" in feed.sampler.streams
        server = start_rillway(tmp_path, "--port", str(server.port))
        until(lambda: feed.lost is None)
    finally:
        feed.stop()
        server.stop()


def test_while_it_is_paused_nothing_is_asked(rillway_server: object, link: Connection) -> None:
    feed = Feed(link.url, Sampler(), Connection(link.url))
    feed.is_paused = True
    feed.start()
    try:
        time.sleep(0.2)
        assert feed.sampler.time_ms == 0 and feed.now_ms == 0
    finally:
        feed.stop()


def test_rounds_go_on_as_long_as_they_are_wanted(link: Connection) -> None:
    link.call("XADD", "s", "*", "n", "1")
    sampler, lengths = Sampler(share=0.5), []

    def show() -> None:
        lengths.append(sampler.streams[b"s"].length)
        link.call("XADD", "s", "*", "n", "1")

    run_rounds(link, sampler, show, lambda: len(lengths) < 3)
    assert lengths == [1, 2, 3]
