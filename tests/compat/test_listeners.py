"""CONFIG SET of `bind` and `port`: the same answers and the same open addresses as Redis."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.conftest import compared_redis_or_skip
from tests.support.programs.ports import free_port
from tests.support.programs.servers import (
    COMPARED_REDIS,
    RunningServer,
    start_redis,
    start_rillway,
)

pytestmark = pytest.mark.compat

DEFAULT = ("--bind", "127.0.0.1 -::1")
ADDRESSES = ("127.0.0.1", "127.0.0.2", "::1")
# No machine has 192.0.2.1.
BINDS = [
    "0.0.0.0", "* -::*", "127.0.0.1", "-::* *", "127.0.0.2 -::1", "*", "127.0.0.1 127.0.0.2",
    "127.0.0.2 127.0.0.1", "127.0.0.1 127.0.0.1", "* 127.0.0.1", "127.0.0.1 *", "localhost", "*",
    "0.0.0.0 -::1", "127.0.0.1 -::1", "192.0.2.1", "* 192.0.2.1",
    "* -192.0.2.1", "127.0.0.1 192.0.2.1", "127.0.0.2 -192.0.2.1", "127.0.0.1 -::1", "",
]  # fmt: skip


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[list[RunningServer]]:
    """Redis and Rillway, each at its port on the default addresses."""
    program = compared_redis_or_skip()
    started = []
    try:
        started.append(start_redis(tmp_path, *DEFAULT, program=program, line=COMPARED_REDIS))
        started.append(start_rillway(tmp_path))
        yield started
    finally:
        for server in started:
            server.stop()


def accepting(port: int) -> list[str]:
    """The addresses at which the port accepts connections."""
    found = []
    for address in ADDRESSES:
        try:
            socket.create_connection((address, port), timeout=60).close()
        except OSError:
            continue
        found.append(address)
    return found


def test_addresses_can_be_changed_as_in_redis(servers: list[RunningServer]) -> None:
    redis, rillway = (changes(server, [("bind", words) for words in BINDS]) for server in servers)
    assert rillway == redis
    assert any(reply == b"+OK\r\n" and opened == list(ADDRESSES[:2]) for _, reply, opened in redis)


def changes(
    server: RunningServer, steps: list[tuple[str, ...]]
) -> list[tuple[tuple[str, ...], bytes, list[str]]]:
    """Each change, its answer, and where the server's port is open after it."""
    with server.connect() as client:
        return [
            (step, client.send("CONFIG", "SET", *step), accepting(server.port)) for step in steps
        ]


def test_a_port_can_be_changed_together_with_the_addresses_as_in_redis(
    servers: list[RunningServer],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = str(other.getsockname()[1])
        found = []
        for server in servers:
            new = free_port()
            steps = [
                ("port", taken, "bind", "*"),
                ("bind", "*", "port", taken),
                ("bind", "192.0.2.1", "port", str(new)),
                ("bind", "*", "port", str(new), "hz", "20"),
            ]
            told = [(reply, opened) for _, reply, opened in changes(server, steps)]
            found.append((told, accepting(new)))
            server.port = new
    assert found[0] == found[1]
    assert found[1][1][:2] == list(ADDRESSES[:2])
