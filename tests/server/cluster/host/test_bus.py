"""The connections of the bus take turns; what makes them is tests/compat/test_cluster.py's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from unittest.mock import Mock

import pytest

from server.cluster.events import Event, LinkLost, Received
from server.cluster.host.bus import SLICE_US, Bus, _Connection
from server.cluster.messages import PING, Message, pack
from server.cluster.nodes import Link


class Turns:
    """A bus whose frames take a third of a turn each, and the loop that it is on."""

    def __init__(self) -> None:
        self.now_us = 0
        self.scheduled: list[Callable[[], None]] = []
        self.handled: list[str] = []
        self.logged: list[str] = []
        loop = Mock()
        loop.call_soon = self.scheduled.append
        self.bus = Bus(
            loop,
            self.happened,
            lambda: 0,
            lambda level, kind, text: self.logged.append(text),
            Mock(),
            lambda: self.now_us,
        )

    def happened(self, event: Event) -> None:
        self.now_us += SLICE_US // 3 + 1
        if isinstance(event, Received):
            self.handled.append(event.message.sender[0])
        elif isinstance(event, LinkLost):
            self.handled.append("lost")

    def connect(self) -> tuple[_Connection, Mock]:
        connection, transport = _Connection(self.bus, None), Mock()
        transport.get_extra_info.return_value = None
        transport.is_closing.return_value = False
        connection.connection_made(transport)
        return connection, transport

    def turn(self) -> str:
        """What the next turn of the loop handles."""
        scheduled, self.scheduled[:] = self.scheduled[:], []
        self.handled.clear()
        for callback in scheduled:
            callback()
        return "".join(self.handled)


def frames(sender: str, number: int) -> bytes:
    return pack(Message(type=PING, sender=sender * 40)) * number


def test_a_turn_is_short_and_each_connection_has_its_share() -> None:
    turns = Turns()
    (flooding, flooded), (other, quiet) = turns.connect(), turns.connect()
    flooding.data_received(frames("a", 6))
    other.data_received(frames("b", 1))
    assert turns.handled == []
    assert [turns.turn(), turns.turn(), turns.turn(), turns.turn()] == ["aba", "aaa", "a", ""]
    flooded.pause_reading.assert_called_once_with()
    flooded.resume_reading.assert_called_once_with()
    quiet.pause_reading.assert_not_called()


def test_a_frame_that_comes_in_parts_is_handled_when_it_is_whole() -> None:
    turns = Turns()
    connection, transport = turns.connect()
    data = frames("a", 2)
    for at in range(0, len(data), 700):
        connection.data_received(data[at : at + 700])
    assert turns.turn() == "aa"
    assert len(turns.scheduled) == 0
    transport.abort.assert_not_called()


def test_what_is_left_of_a_lost_connection_is_not_handled() -> None:
    turns = Turns()
    connection, _ = turns.connect()
    connection.data_received(frames("a", 5))
    assert turns.turn() == "aaa"
    connection.connection_lost(None)
    assert turns.handled[-1] == "lost"
    assert turns.turn() == ""


def test_an_error_of_one_connection_leaves_the_others_their_turns() -> None:
    turns = Turns()
    (broken, transport), (other, _) = turns.connect(), turns.connect()
    broken.data_received(frames("a", 2))
    other.data_received(frames("b", 2))
    happened, turns.bus.happened = turns.bus.happened, Mock(side_effect=RuntimeError("broken"))
    with pytest.raises(RuntimeError, match="broken"):
        turns.turn()
    transport.abort.assert_called_once_with()
    turns.bus.happened = happened
    assert turns.turn() == "bb"


async def test_a_host_that_is_none_is_a_lost_link() -> None:
    happened: list[Event] = []
    loop, credentials = asyncio.get_running_loop(), Mock(for_dialled_nodes=None)
    bus = Bus(loop, happened.append, lambda: 0, Mock(), credentials)
    await bus._dial(Link(), "..", 7000, 1.0)
    assert list(map(type, happened)) == [LinkLost]


def test_bytes_that_are_no_frame_end_the_connection() -> None:
    turns = Turns()
    connection, transport = turns.connect()
    connection.data_received(frames("a", 1) + b"GET / HTTP/1.1\r\n")
    assert turns.turn() == "a"
    transport.abort.assert_called_once_with()
    assert turns.logged[0].startswith("Cluster bus: not a frame of the cluster bus")
