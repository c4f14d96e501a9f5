"""Which clients go on, and when; the states that they are in meanwhile."""

from __future__ import annotations

import re
from pathlib import Path

from commands.core.blocked_clients import BlockedClients
from commands.core.client import Client, ClientEvent, ClientState
from commands.core.long_reply import LongReply
from server.inprocess.server import InProcessClient, InProcessServer
from server.requests.waiters import ClientQueues, is_being_answered

TABLE = Path(__file__).parents[3] / "docs" / "architecture" / "server.md"


def served() -> tuple[InProcessServer, InProcessClient]:
    server = InProcessServer()
    return server, server.connect()


def state(connection: InProcessClient) -> ClientState:
    return ClientState(connection.state.state)


def test_a_client_is_ready_before_and_after_a_request() -> None:
    _, connection = served()
    assert state(connection) is ClientState.READY
    connection.execute("PING")
    assert state(connection) is ClientState.READY


def test_a_blocking_command_blocks_until_its_key_is_ready() -> None:
    server, connection = served()
    connection.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    assert state(connection) is ClientState.BLOCKED
    server.connect().execute("XADD", "s", "*", "f", "v")
    assert state(connection) is ClientState.READY


def test_client_unblock_makes_a_blocked_client_resume_and_then_ready() -> None:
    server, connection = served()
    connection.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    server.dispatcher.waiters.unblock(connection.state, b"*-1\r\n")
    assert state(connection) is ClientState.RESUMING
    server.finish_cycle()
    assert state(connection) is ClientState.READY


def test_client_pause_postpones_a_request_and_its_end_resumes_it() -> None:
    server, connection = served()
    server.connect().execute("CLIENT", "PAUSE", "1000")
    connection.execute("PING")
    assert state(connection) is ClientState.POSTPONED
    server.advance(1001)
    assert state(connection) is ClientState.READY
    assert connection.received() == b"+PONG\r\n"


def test_a_client_whose_turn_is_over_yields_and_goes_on_later() -> None:
    server, connection = served()
    server.dispatcher.clock.slice_ns = -1
    connection.send(b"PING\r\n" * 3)
    server.cycle.finish()
    assert state(connection) is ClientState.YIELDED
    server.finish_cycle()
    assert state(connection) is ClientState.READY
    assert connection.received() == b"+PONG\r\n" * 3


def test_quit_closes_once_the_reply_has_left() -> None:
    server, connection = served()
    connection.send(b"QUIT\r\nPING\r\n")
    assert state(connection) is ClientState.CLOSING
    server.finish_cycle()
    assert state(connection) is ClientState.CLOSED
    assert connection.received() == b"+OK\r\n"


def test_a_blocked_client_that_is_closed_is_in_no_queue() -> None:
    server, connection = served()
    connection.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    connection.abort()
    assert state(connection) is ClientState.CLOSED
    assert connection.state not in server.instance.feature(BlockedClients).clients


def test_clients_that_yielded_go_on_in_order(server: InProcessServer) -> None:
    queues = ClientQueues()
    clients: list[Client] = [server.connect().state for _ in range(3)]
    for client in clients:
        queues.add_yielded(client)
    assert [queues.take_yielded() for _ in range(4)] == [*clients, None]


def test_nothing_goes_on_after_the_end(server: InProcessServer) -> None:
    queues, yielding, blocked = ClientQueues(), server.connect().state, server.connect().state
    queues.add_yielded(yielding)
    blocked.enter(ClientEvent.BLOCK)
    queues.resume(blocked)
    queues.stop()
    assert queues.take_yielded() is None
    assert queues.take_resuming() == []


def test_a_client_that_is_closed_does_not_go_on(server: InProcessServer) -> None:
    queues, client = ClientQueues(), server.connect().state
    queues.postpone(client, [b"PING"])
    queues.resume_postponed()
    client.enter(ClientEvent.CLOSE)
    queues.forget(client)
    assert queues.take_resuming() == []
    assert client.postponed is None and not is_being_answered(client)


def test_bytes_that_arrive_while_a_client_resumes_wait_for_it() -> None:
    server, connection = served()
    connection.send(b"XREAD BLOCK 0 STREAMS s $\r\nECHO 1\r\n")
    server.dispatcher.waiters.unblock(connection.state, b"*-1\r\n")
    connection.send(b"ECHO 2\r\n")
    server.finish_cycle()
    assert connection.received() == b"*-1\r\n$1\r\n1\r\n$1\r\n2\r\n"


def test_a_long_reply_is_made_in_pieces_and_then_the_client_resumes() -> None:
    server, connection = served()
    reply = LongReply(iter([b"*1\r\n", b":1\r\n"]))
    server.dispatcher.send_in_pieces = lambda client: None
    server.dispatcher.begin_long_reply(connection.state, reply, [b"xrange"], 0)
    assert state(connection) is ClientState.BEING_ANSWERED
    server.dispatcher.end_long_reply(connection.state, reply)
    assert state(connection) is ClientState.RESUMING
    server.finish_cycle()
    assert state(connection) is ClientState.READY


def test_the_documentation_has_each_state() -> None:
    section = TABLE.read_text().partition("## The states of a client")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([a-z ]+?)(?: \*)? \| ", section, re.M)
    assert rows == ["state", *[state.name.lower().replace("_", " ") for state in ClientState]]
