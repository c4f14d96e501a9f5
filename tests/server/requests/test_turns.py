"""The states of a client: each transition of the table in docs/architecture/server.md."""

from __future__ import annotations

import re
from pathlib import Path

from commands.core.blocked_clients import BlockedClients
from commands.core.client import Client
from commands.core.long_reply import LongReply
from server.inprocess.server import InProcessClient, InProcessServer
from server.requests.turns import State, Turns

TABLE = Path(__file__).parents[3] / "docs" / "architecture" / "server.md"


def served() -> tuple[InProcessServer, InProcessClient, Turns]:
    server = InProcessServer()
    return server, server.connect(), server.dispatcher.turns


def state(connection: InProcessClient, turns: Turns) -> State:
    return turns.state(connection.state)


def test_a_client_is_ready_before_and_after_a_request() -> None:
    _, connection, turns = served()
    assert state(connection, turns) is State.READY
    connection.execute("PING")
    assert state(connection, turns) is State.READY
    assert not turns.is_halted(connection.state)


def test_a_blocking_command_blocks_until_its_key_is_ready() -> None:
    server, connection, turns = served()
    connection.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    assert state(connection, turns) is State.BLOCKED
    assert turns.is_halted(connection.state)
    server.connect().execute("XADD", "s", "*", "f", "v")
    assert state(connection, turns) is State.READY


def test_client_unblock_makes_a_blocked_client_resume_and_then_ready() -> None:
    server, connection, turns = served()
    connection.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    server.dispatcher.unblock(connection.state, b"*-1\r\n")
    assert state(connection, turns) is State.RESUMING
    server.finish_cycle()
    assert state(connection, turns) is State.READY


def test_client_pause_postpones_a_request_and_its_end_resumes_it() -> None:
    server, connection, turns = served()
    server.connect().execute("CLIENT", "PAUSE", "1000")
    connection.execute("PING")
    assert state(connection, turns) is State.POSTPONED
    assert turns.is_halted(connection.state)
    server.advance(1001)
    assert state(connection, turns) is State.READY
    assert connection.received() == b"+PONG\r\n"


def test_a_client_whose_turn_is_over_yields_and_goes_on_later() -> None:
    server, connection, turns = served()
    server.dispatcher.turn_ns = -1
    connection.send(b"PING\r\n" * 3)
    server.cycle.finish()
    assert state(connection, turns) is State.YIELDED
    assert not turns.is_halted(connection.state)
    server.finish_cycle()
    assert state(connection, turns) is State.READY
    assert connection.received() == b"+PONG\r\n" * 3


def test_quit_closes_once_the_reply_has_left() -> None:
    server, connection, turns = served()
    connection.send(b"QUIT\r\nPING\r\n")
    assert state(connection, turns) is State.CLOSING
    assert turns.is_halted(connection.state)
    server.finish_cycle()
    assert state(connection, turns) is State.CLOSED
    assert connection.received() == b"+OK\r\n"


def test_a_blocked_client_that_is_closed_is_in_no_queue() -> None:
    server, connection, turns = served()
    connection.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    connection.abort()
    assert state(connection, turns) is State.CLOSED
    assert connection.state not in server.instance.feature(BlockedClients).clients


def test_clients_that_yielded_go_on_in_order(server: InProcessServer) -> None:
    turns = Turns()
    clients: list[Client] = [server.connect().state for _ in range(3)]
    for client in clients:
        turns.give_way(client)
    assert [turns.take_yielded() for _ in range(4)] == [*clients, None]


def test_nothing_goes_on_after_the_end(server: InProcessServer) -> None:
    turns, client = Turns(), server.connect().state
    turns.give_way(client)
    turns.resume(client)
    turns.stop()
    assert turns.take_yielded() is None
    assert turns.take_resuming() == []


def test_a_long_reply_is_made_in_pieces_and_then_the_client_resumes() -> None:
    server, connection, turns = served()
    reply = LongReply(iter([b"*1\r\n", b":1\r\n"]))
    connection.state.long_reply = reply
    reply.request = [b"xrange"]
    assert state(connection, turns) is State.ANSWERED_IN_PIECES
    assert turns.is_halted(connection.state)
    server.dispatcher.end_long_reply(connection.state, reply)
    assert state(connection, turns) is State.RESUMING
    server.finish_cycle()
    assert state(connection, turns) is State.READY


def test_the_documentation_has_each_state() -> None:
    section = TABLE.read_text().partition("## The states of a client")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([a-z ]+?)(?: \*)? \| ", section, re.M)
    assert rows == ["state", *[state.name.lower().replace("_", " ") for state in State]]
