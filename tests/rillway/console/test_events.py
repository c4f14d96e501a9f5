"""Server-sent events: samples, and entries as they arrive."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from rillway.console import events
from rillway.console.events import QUEUED_EVENTS, Audience, Tail, Viewer, encode
from rillway.console.views import BaseView, StreamView
from server.inprocess.server import InProcessClient, InProcessServer
from tests.doubles.in_process_link import InProcessLink


async def received(viewer: Viewer, batches: int = 1) -> list[tuple[str, Any]]:
    """What a viewer gets next."""
    found: list[tuple[str, Any]] = []
    reading = viewer.events(lambda: True)
    await anext(reading)  # retry
    for _ in range(batches):
        for block in (await anext(reading)).decode().strip().split("\n\n"):
            lines = dict(line.split(": ", 1) for line in block.split("\n"))
            found.append((lines["event"], json.loads(lines["data"])))
    await reading.aclose()
    return found


def keys(event: tuple[str, Any]) -> list[str]:
    return [row["key"] for row in event[1]["rows"]]


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    async def pass_by(_: float) -> None:
        return None

    monkeypatch.setattr(asyncio, "sleep", pass_by)


async def joined(server: InProcessServer, since: str | None = None) -> tuple[Tail, Viewer]:
    """A viewer of `orders`; the test takes the tail's steps."""
    tail, viewer = Tail(InProcessLink(server), 0, b"orders"), Viewer(BaseView())
    await tail._find_end()
    tail._task = None
    tail._viewers.add(viewer)
    return tail, viewer


def test_an_event_is_one_line_of_data() -> None:
    assert encode("notice", {"text": "a\nb"}, "1-0") == (
        b'id: 1-0\nevent: notice\ndata: {"text":"a\\nb"}\n\n'
    )


async def test_a_slow_viewer_gets_the_newest_sample_and_the_last_events() -> None:
    viewer = Viewer(BaseView())
    for number in range(QUEUED_EVENTS + 10):
        viewer.show(encode("sample", number))
        viewer.send(encode("notice", number))
    found = await received(viewer)
    assert found[-1] == ("sample", QUEUED_EVENTS + 9)
    assert [data for _, data in found[:-1]] == list(range(10, QUEUED_EVENTS + 10))


async def test_a_viewer_ends_with_its_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "PING_SECONDS", 0.0)
    is_open = [True, True, False]
    reading = Viewer(BaseView()).events(lambda: is_open.pop(0))
    assert [data async for data in reading] == [b"retry: 2000\n\n", b": ping\n\n", b": ping\n\n"]


async def test_entries_are_shown_as_they_arrive(
    server: InProcessServer, orders: InProcessClient
) -> None:
    tail, viewer = await joined(server)
    orders.execute("XADD", "orders", "11-0", "a", "b")
    orders.execute("XADD", "orders", "12-0", "a", "<b>")
    await tail._step()
    [event] = await received(viewer)
    assert keys(event) == ["11-0", "12-0"]
    assert event[1]["rows"][1]["fields"] == [["a", "<b>"]] and event[1]["skipped"] == 0


async def test_what_came_since_the_page_was_made_is_sent_first(
    server: InProcessServer, orders: InProcessClient
) -> None:
    tail, viewer = Tail(InProcessLink(server), 0, b"orders"), Viewer(BaseView())
    await tail.join(viewer, "8-0")
    [event] = await received(viewer)
    assert keys(event) == ["9-0", "10-0"]
    assert tail.leave(viewer)
    await tail.close()


@pytest.mark.usefixtures("no_pauses")
async def test_of_a_busy_stream_the_newest_are_shown_and_the_others_counted(
    server: InProcessServer, orders: InProcessClient
) -> None:
    tail, viewer = await joined(server)
    for number in range(11, 1011):
        orders.execute("XADD", "orders", f"{number}-0", "a", "b")
    await tail._step()
    await tail._step()
    first, second = await received(viewer)
    assert keys(first) == [f"{number}-0" for number in range(11, 111)]
    assert keys(second) == [f"{number}-0" for number in range(911, 1011)]
    assert (first[1]["skipped"], second[1]["skipped"]) == (0, 800)
    await tail._step()
    assert not tail._is_busy


async def test_a_stream_that_is_deleted_is_gone_once_and_may_come_back(
    server: InProcessServer, orders: InProcessClient
) -> None:
    tail, viewer = await joined(server)
    orders.execute("DEL", "orders")
    await tail._step()
    await tail._step()
    assert [event for event, _ in await received(viewer)] == ["gone"]
    orders.execute("XADD", "orders", "1-0", "a", "b")
    await tail._step()
    [event] = await received(viewer)
    assert keys(event) == ["1-0"]


@pytest.mark.usefixtures("no_pauses")
async def test_a_busy_stream_that_is_deleted_is_gone(
    server: InProcessServer, orders: InProcessClient
) -> None:
    tail, viewer = await joined(server)
    for number in range(11, 211):
        orders.execute("XADD", "orders", f"{number}-0", "a", "b")
    await tail._step()
    orders.execute("DEL", "orders")
    await tail._step()
    assert [event for event, _ in await received(viewer)] == ["entries", "gone"]


async def test_of_large_entries_fewer_are_read_at_once(
    server: InProcessServer, orders: InProcessClient
) -> None:
    tail, viewer = await joined(server)
    orders.execute("XADD", "orders", "11-0", "a", "x" * 1_000_000)
    await tail._step()
    assert tail._count == 1
    [event] = await received(viewer)
    assert len(event[1]["rows"][0]["fields"][0][1]) < 300


async def test_tails_leave_connections_to_requests(
    server: InProcessServer, orders: InProcessClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "MAX_TAILS", 1)
    audience = Audience(InProcessLink(server), 0)
    views = [StreamView(tailed=name, name=name) for name in (b"orders", b"orders", b"other")]
    async with (
        audience.viewer(views[0], None), audience.viewer(views[1], None),
        audience.viewer(views[2], None) as refused,
    ):  # fmt: skip
        assert [event for event, _ in await received(refused)] == ["notice", "sample"]
        assert list(audience._tails) == [b"orders"]
    await audience.close()


async def test_viewers_share_one_tail_and_one_sample(
    server: InProcessServer, orders: InProcessClient
) -> None:
    audience = Audience(InProcessLink(server), 0)
    view = StreamView(opened=b"orders", tailed=b"orders", name=b"orders")
    async with audience.viewer(view, None) as first, audience.viewer(view, None) as second:
        assert len(audience._tails) == 1
        audience._on_tick(audience.watch)
        assert first._sample is second._sample is not None
        assert audience._focus() == ([], [b"orders"])
    assert audience._tails == {} and audience.viewers == set()
    await audience.close()


async def test_viewers_are_told_of_a_lost_connection_once(server: InProcessServer) -> None:
    audience = Audience(InProcessLink(server), 0)
    async with audience.viewer(BaseView(), None) as viewer:
        await received(viewer)
        audience.watch.lost_since = 1_700_000_000.0
        audience._on_tick(audience.watch)
        audience._on_tick(audience.watch)
        (_, notice), (_, sample) = await received(viewer)
        assert notice == {"text": "No connection to the server since 22:13:20 UTC.", "lost": True}
        assert sample["texts"]["state"] == "no connection since 22:13:20 UTC"
        audience.watch.lost_since = None
        audience._on_tick(audience.watch)
        (_, notice), _ = await received(viewer)
        assert notice["lost"] is False
    await audience.close()


async def test_viewers_that_come_at_once_share_one_read(
    server: InProcessServer, orders: InProcessClient
) -> None:
    link = InProcessLink(server)
    tail = Tail(link, 0, b"orders")
    viewers = [Viewer(BaseView()) for _ in range(4)]
    await asyncio.gather(*(tail.join(viewer, None) for viewer in viewers))
    assert [words[0] for words in link.requests].count("XINFO") == 1
    await tail.close()
