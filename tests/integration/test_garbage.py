"""Connections are freed without the garbage collector, which never visits long-lived objects."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
import uvloop

from commands.config.configuration import Configuration
from commands.core.client import Client, Clients
from server.loop.connection import Connection
from server.loop.service import Service
from server.requests.session import Session

pytestmark = pytest.mark.integration

# What a client may be in the middle of when it leaves.
LAST_WORDS = [
    b"PING\r\n",
    b"QUIT\r\n",
    b"HELLO 3\r\nSUBSCRIBE c\r\n",
    b"XREAD BLOCK 0 STREAMS s $\r\n",
    b"MULTI\r\nSET k v\r\n",
    b"WATCH k\r\nCLIENT TRACKING ON\r\nGET k\r\n",
    b"MONITOR\r\n",
]


@pytest.fixture
def on_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Callable[[Service], Coroutine[Any, Any, None]]], None]:
    """Runs a test beside a server, in the same loop."""
    monkeypatch.chdir(tmp_path)
    thresholds = gc.get_threshold()

    async def serve(test: Callable[[Service], Coroutine[Any, Any, None]]) -> None:
        config = Configuration()
        config.set("port", ["0"])
        config.set("save", [""])
        service = Service(config, None, asyncio.get_running_loop())
        await service.start()
        await service.load()
        await test(service)
        service.shut_down(save=False, force=True)
        await service.run()

    def run(test: Callable[[Service], Coroutine[Any, Any, None]]) -> None:
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(serve(test))
        finally:
            gc.enable()
            gc.unfreeze()
            gc.set_threshold(*thresholds)

    return run


def alive() -> dict[str, int]:
    objects = gc.get_objects()
    kinds = (Client, Connection, Session)
    return {kind.__name__: sum(type(o) is kind for o in objects) for kind in kinds}


class Ring:
    """Refers to itself, so that only a collection frees it."""

    def __init__(self) -> None:
        self.itself = self


def test_no_collection_looks_through_what_a_start_has_imported(
    on_service: Callable[[Callable[[Service], Coroutine[Any, Any, None]]], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gc.disable()  # as `rillway serve` does before it imports the server
    ring = weakref.ref(Ring())
    is_left_alone: list[bool] = []
    load = Service.load

    async def collect_and_load(service: Service) -> bool:
        gc.collect()
        is_left_alone.append(ring() is not None)
        return await load(service)

    async def nothing(_: Service) -> None:
        pass

    monkeypatch.setattr(Service, "load", collect_and_load)
    on_service(nothing)
    assert is_left_alone == [True]


def test_a_connection_that_is_closed_needs_no_garbage_collector(
    on_service: Callable[[Callable[[Service], Coroutine[Any, Any, None]]], None],
) -> None:
    async def connect_and_leave(service: Service) -> None:
        port = service.listeners.places[0][2]
        gc.collect()
        gc.disable()
        before = alive()
        for words in LAST_WORDS:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(words)
            await writer.drain()
            await asyncio.sleep(0.02)
            writer.close()
            await writer.wait_closed()
        while service.instance.feature(Clients).by_id:
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.02)
        assert alive() == before

    on_service(connect_and_leave)
