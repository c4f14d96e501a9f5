"""A server inside of a user's process, without a client library."""

from __future__ import annotations

import gc
import os
import signal
import socket
from collections.abc import Iterator

import pytest

from protocol import replies
from server.inprocess import embedded, loop_thread
from server.inprocess.embedded import EmbeddedService


def start(**directives: str) -> EmbeddedService:
    thread = loop_thread.running()
    lines = {name.replace("_", "-"): [value] for name, value in directives.items()}
    return thread.call(embedded.start, thread.loop, lines)


class Peer:
    """One connection."""

    def __init__(self, server: EmbeddedService) -> None:
        self.socket, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(server.door, [b"\0"], [theirs.fileno()])
        self.socket.settimeout(10)

    def ask(self, *words: str) -> bytes:
        self.socket.sendall(replies.command([word.encode() for word in words]))
        return self.socket.recv(65536)


@pytest.fixture
def server() -> Iterator[EmbeddedService]:
    running = start()
    yield running
    loop_thread.running().call(running.close)


def test_a_client_connects_through_the_door(server: EmbeddedService) -> None:
    assert Peer(server).ask("PING") == b"+PONG\r\n"


def test_clients_have_addresses_of_their_own(server: EmbeddedService) -> None:
    peers = [Peer(server) for _ in range(2)]
    shown = {peer.ask("CLIENT", "INFO").partition(b" addr=")[2].split()[0] for peer in peers}
    assert shown == {b"127.0.0.1:1", b"127.0.0.1:2"}


def test_a_closed_server_ends_its_connections_and_answers_no_others(
    server: EmbeddedService,
) -> None:
    peer = Peer(server)
    assert peer.ask("PING")
    loop_thread.running().call(server.close)
    assert peer.socket.recv(100) == b""
    assert server.is_ending


def test_shutdown_ends_the_server_and_not_the_process(server: EmbeddedService) -> None:
    assert Peer(server).ask("SHUTDOWN") == b""
    assert server.is_ending


def test_a_fatal_error_ends_the_server_and_not_the_process(server: EmbeddedService) -> None:
    with pytest.raises(RuntimeError, match="damaged"):
        loop_thread.running().call(server.fatal, "damaged")
    assert server.is_ending and server.log_lines[0] == "damaged"


def test_files_are_in_memory() -> None:
    server = start(appendonly="yes", enable_debug_command="yes")
    peer, before = Peer(server), sorted(os.listdir())
    assert peer.ask("SET", "key", "value") == b"+OK\r\n"
    assert peer.ask("BGREWRITEAOF").startswith(b"+")
    assert peer.ask("SAVE") == b"+OK\r\n"
    assert peer.ask("DEBUG", "RELOAD") == b"+OK\r\n"
    assert peer.ask("GET", "key") == b"$5\r\nvalue\r\n"
    assert sorted(os.listdir()) == before
    loop_thread.running().call(server.close)


def test_the_process_stays_as_it_was() -> None:
    def looks() -> tuple[object, ...]:
        return gc.isenabled(), gc.get_threshold(), signal.getsignal(signal.SIGTERM), os.getcwd()

    before = looks()
    server = start(appendonly="yes")
    assert Peer(server).ask("CONFIG", "SET", "loglevel", "debug") == b"+OK\r\n"
    assert looks() == before
    loop_thread.running().call(server.close)


def test_what_needs_a_port_or_a_process_is_refused(server: EmbeddedService) -> None:
    with pytest.raises(ValueError, match="'port' cannot be set"):
        start(port="7000")
    assert b"'port' has no effect here" in Peer(server).ask("CONFIG", "SET", "port", "7000")


def test_a_wrong_directive_is_named() -> None:
    with pytest.raises(ValueError, match="did you mean 'maxclients'"):
        start(maxclientz="10")


def test_deadlines_pass(server: EmbeddedService) -> None:
    assert Peer(server).ask("BLPOP", "list", "0.01") == b"*-1\r\n"


def test_a_replica_gets_its_snapshot(server: EmbeddedService) -> None:
    peer = Peer(server)
    peer.ask("SET", "key", "v" * 3_000_000)
    replica = Peer(server)
    received = replica.ask("PSYNC", "?", "-1")
    assert received.startswith(b"+FULLRESYNC")
    while len(received) < 10_000:
        received += replica.socket.recv(1 << 20)
    assert b"REDIS" in received
