"""A server and a client for the tests of the stream commands."""

from __future__ import annotations

import pytest

from commands.core.propagation import Sink
from protocol.request import words_of_all
from server.inprocess.server import InProcessServer
from tests.commands.streams.talk import NOW_MS, Talk


@pytest.fixture
def server() -> InProcessServer:
    return InProcessServer(now_ms=NOW_MS)


@pytest.fixture
def client(server: InProcessServer) -> Talk:
    return Talk(server)


@pytest.fixture
def resp3(server: InProcessServer) -> Talk:
    return Talk(server, resp=3)


@pytest.fixture
def events(server: InProcessServer) -> list[tuple[str, str]]:
    """The keyspace events that are published from now on: (event, key)."""
    seen: list[tuple[str, str]] = []
    instance = server.instance
    instance.config.notify_keyspace_events = -1  # every class
    instance.look_up_settings()

    def notify(event_class: int, event: bytes, key: bytes, db_index: int) -> None:
        seen.append((event.decode(), key.decode()))

    instance.notify = notify  # type: ignore[method-assign]
    return seen


@pytest.fixture
def propagated(server: InProcessServer) -> list[str]:
    """The requests that are propagated from now on, each as one string."""
    seen: list[str] = []

    def take(wire: bytes, last_db: int) -> None:
        seen.extend(b" ".join(argv).decode() for argv in words_of_all(wire))

    server.instance.propagation.add_sink(Sink(lambda db_index: None, take))
    return seen
