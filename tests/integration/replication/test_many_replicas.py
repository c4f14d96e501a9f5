"""Twenty replicas on one primary, one of which has stopped: what they hold stays bounded."""

from __future__ import annotations

import selectors
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.support.programs.servers import RunningServer
from tests.support.replicas import (
    client_of,
    contents,
    follow,
    replication,
    wait_for_link,
    wait_for_offset,
)
from tests.support.waiting import until

Start: TypeAlias = Callable[..., RunningServer]

READERS = 19
LIMIT_BYTES = 4 << 20
SENT_BYTES = 48 << 20
VALUE_BYTES = 64 << 10
BATCH = 16  # writes before the clients ask how the primary is
DIRECTIVES = (
    "--repl-diskless-sync-delay", "0", "--client-output-buffer-limit", f"replica {LIMIT_BYTES} 0 0",
)  # fmt: skip
pytestmark = pytest.mark.integration


class Readers:
    """Replicas that only count what they are sent."""

    def __init__(self, primary: RunningServer, count: int) -> None:
        known = replication(primary)
        asked = b"PSYNC %b %d\r\n" % (
            known["master_replid"].encode(), known["master_repl_offset"] + 1,
        )  # fmt: skip
        self.offset = known["master_repl_offset"]
        self.selector = selectors.DefaultSelector()
        self.counts: dict[socket.socket, int] = {}
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", primary.port))
            connection.sendall(asked)
            line = connection.makefile("rb", buffering=0).readline()
            assert line.startswith(b"+CONTINUE"), line
            connection.setblocking(False)
            self.selector.register(connection, selectors.EVENT_READ)
            self.counts[connection] = 0

    def read(self) -> None:
        """What is there."""
        for key, _ in self.selector.select(0.01):
            assert isinstance(key.fileobj, socket.socket)
            chunk = key.fileobj.recv(1 << 20)
            assert chunk, "the primary has closed a replica that reads"
            self.counts[key.fileobj] += len(chunk)

    def read_to(self, offset: int) -> None:
        def have_all() -> bool:
            self.read()
            return set(self.counts.values()) == {offset - self.offset}

        until(have_all, "not every replica gets everything")

    def close(self) -> None:
        for connection in self.counts:
            connection.close()
        self.selector.close()


def resident_bytes(server: RunningServer) -> int:
    pages = Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]
    return int(pages) * 4096


def test_a_stopped_replica_costs_a_primary_no_more_than_the_limit(
    run_rillway: Start, run_redis: Start
) -> None:
    primary, stopped = run_rillway(*DIRECTIVES), run_redis()
    follow(stopped, primary)
    readers = Readers(primary, READERS)
    stopped.process.send_signal(signal.SIGSTOP)
    before_bytes = resident_bytes(primary)
    held_bytes, connected = [], []
    with client_of(primary) as client:
        assert client.info("replication")["connected_slaves"] == READERS + 1
        for _ in range(SENT_BYTES // VALUE_BYTES // BATCH):
            with client.pipeline(transaction=False) as pipeline:
                for _ in range(BATCH):
                    pipeline.set("k", b"x" * VALUE_BYTES)
                pipeline.execute()
            readers.read_to(replication(primary)["master_repl_offset"])
            held_bytes.append(client.info("memory")["mem_clients_slaves"])
            connected.append(client.info("replication")["connected_slaves"])
        assert client.info("replication")["connected_slaves"] == READERS
        assert client.info("stats")["client_output_buffer_limit_disconnections"] == 1
    # It was kept for a while, and never held more than the limit and a turn of the loop.
    assert connected.count(READERS + 1) > 1
    assert LIMIT_BYTES / 2 < max(held_bytes) <= LIMIT_BYTES + 2 * BATCH * VALUE_BYTES
    assert resident_bytes(primary) - before_bytes < SENT_BYTES
    stopped.process.send_signal(signal.SIGCONT)
    wait_for_link(stopped)
    wait_for_offset(stopped, primary)
    assert contents(stopped) == contents(primary)
    readers.close()
