"""Peers that break the replication protocol, over real sockets: the data is unchanged."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest

from protocol.replies import command
from tests.support.programs.servers import RunningServer, start_rillway
from tests.support.replicas import (
    client_of,
    contents,
    follow,
    replication,
)
from tests.support.waiting import until

Start: TypeAlias = Callable[..., RunningServer]

ID = b"ab" * 20
FULL = b"+FULLRESYNC " + ID + b" 1\r\n"
AT_ONCE = ("--repl-diskless-sync-delay", "0")
LARGE_KEYS = 24
LARGE_BYTES = 1 << 20
pytestmark = pytest.mark.integration


def fill(server: RunningServer) -> None:
    with client_of(server) as client:
        client.xadd("s", {"f": "v"}, id="1-1")
        client.xgroup_create("s", "g", "0")
        client.xreadgroup("g", "c", {"s": ">"})


# -- replicas ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def primary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    server = start_rillway(tmp_path_factory.mktemp("primary"), *AT_ONCE)
    fill(server)
    yield server
    server.stop()


PSYNC = command([b"PSYNC", b"?", b"-1"])
WRITE = command([b"SET", b"evil", b"1"])
ENDLESS = b"*3\r\n$8\r\nREPLCONF\r\n$3\r\nACK\r\n$999999999999\r\n" + bytes(1000)


@pytest.mark.parametrize(
    "sent",
    [
        PSYNC + WRITE,
        PSYNC + PSYNC + WRITE,
        PSYNC + command([b"MULTI"]) + WRITE + command([b"EXEC"]),
        PSYNC + command([b"XREADGROUP", b"GROUP", b"g", b"c", b"STREAMS", b"s", b">"]),
        PSYNC + command([b"REPLICAOF", b"127.0.0.1", b"1"]),
        PSYNC + command([b"SUBSCRIBE", b"c"]),
        PSYNC + command([b"MONITOR"]),
        PSYNC + ENDLESS,
        PSYNC + b"\x00\xff garbage\r\n*-1\r\n$$$",
        PSYNC + command([b"REPLCONF", b"ACK", b"9" * 100]) + WRITE,
        command([b"PSYNC", b"?" * 70_000, b"1"]) + WRITE,
        command([b"PSYNC", ID, b"-9223372036854775808"]) + WRITE,
        command([b"MONITOR"]) + PSYNC + WRITE,
        command([b"SUBSCRIBE", b"c"]) + PSYNC,
        command([b"SYNC"]) + WRITE,
        b"PSYNC ? -1\r\nSET evil 1\r\n",
    ],
)  # fmt: skip
def test_a_replica_that_does_more_than_follow_changes_nothing(
    primary: RunningServer, sent: bytes
) -> None:
    before = contents(primary)
    with socket.create_connection(("127.0.0.1", primary.port), timeout=60) as connection:
        connection.sendall(sent)
        connection.settimeout(0.3)
        try:
            while connection.recv(1 << 16):
                pass
        except (TimeoutError, ConnectionResetError):
            pass
    until(lambda: replication(primary)["connected_slaves"] == 0, "it is still there")
    assert contents(primary) == before
    assert "Traceback" not in primary.output()


def test_a_replica_that_never_reads_its_snapshot_holds_others_up_for_a_while_only(
    run_rillway: Start,
) -> None:
    primary = run_rillway(*AT_ONCE, "--repl-timeout", "2")
    with client_of(primary) as client:
        for number in range(LARGE_KEYS):
            client.set(f"k{number}", os.urandom(LARGE_BYTES))
        client.config_set("repl-diskless-sync-delay", "1")
    replica = run_rillway()
    with socket.create_connection(("127.0.0.1", primary.port)) as deaf:
        deaf.sendall(command([b"REPLCONF", b"capa", b"eof", b"capa", b"rillway"]))
        assert deaf.recv(100) == b"+OK\r\n"  # nothing may be on its way before PSYNC
        deaf.sendall(PSYNC)
        follow(replica, primary)
        assert contents(replica) == contents(primary)
        until(lambda: replication(primary)["connected_slaves"] == 1, "it is still there")
    assert "timedout replica" in primary.output()


# -- primaries ---------------------------------------------------------------------------------


class BadPrimary:
    """Accepts any handshake, and answers PSYNC with given bytes."""

    def __init__(self, answer: bytes, endless: bytes = b"") -> None:
        self.answer = answer
        self.endless = endless
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.connections = 0
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            try:
                self.talk(connection)
            except OSError:
                connection.close()

    def talk(self, connection: socket.socket) -> None:
        while data := connection.recv(1 << 16):
            if b"PSYNC" in data:
                connection.sendall(self.answer)
                while self.endless:
                    connection.sendall(self.endless)
                continue
            connection.sendall(b"+OK\r\n" * max(1, data.count(b"*")))
        connection.close()


def test_a_name_that_no_host_has_is_an_address_that_does_not_answer(run_rillway: Start) -> None:
    replica = run_rillway()
    with client_of(replica) as client:
        client.execute_command("REPLICAOF", b"\xff", 1)
        until(lambda: "idna" in replica.output(), "it does not say why")
        assert client.info("replication")["master_link_status"] == "down"
    assert "Traceback" not in replica.output()


@pytest.mark.thorough  # tests/server/replication/replica/test_link.py has these in memory
@pytest.mark.parametrize(
    ("answer", "endless", "logged"),
    [
        (b"", b"+", "Bad protocol from MASTER, a line of the handshake"),
        (FULL, b"x" * 1000, "Bad protocol from MASTER, the first byte is not '$'"),
        (FULL + b"$" + b"9" * 18 + b"\r\nREDIS0011", b"", "Timeout receiving bulk data"),
        (FULL + b"$-5\r\n", b"", "Bad protocol from MASTER, b'$-5' is no length"),
        (FULL + b"$10\r\nREDIS0011\xff" + b"x" * 100, b"", "Failed trying to load the MASTER"),
        (b"+CONTINUE " + ID[:39] + b"\r\n", b"", "Unexpected reply to PSYNC from master"),
    ],
)
def test_a_primary_with_invalid_answers_leaves_the_data_unchanged(
    run_rillway: Start, answer: bytes, endless: bytes, logged: str
) -> None:
    replica, bad = run_rillway("--repl-timeout", "1"), BadPrimary(answer, endless)
    fill(replica)
    before = contents(replica)
    with client_of(replica) as client:
        client.replicaof("127.0.0.1", str(bad.port))
        until(lambda: bad.connections > 1, "it does not give up")
        assert contents(replica) == before
        assert client.info("replication")["master_link_status"] == "down"
        client.replicaof("NO", "ONE")
        assert client.set("k", "v")
    assert logged in replica.output() and "Traceback" not in replica.output()
    bad.listener.close()
