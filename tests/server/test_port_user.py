"""Who listens on a port."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from server.port_user import first_free, listener, port_in_use

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  inode"
LINE = "   0: {}:{:04X} 00000000:0000 {} 00000000:00000000 00:00000000 00000000     0        0 {} 1"


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """Process 12, redis-server, listens on port 6379; 13 is connected from it."""
    (tmp_path / "net").mkdir()
    lines = [LINE.format("0100007F", 6379, "0A", 77), LINE.format("0100007F", 6380, "01", 78)]
    (tmp_path / "net" / "tcp").write_text("\n".join([HEAD, *lines]) + "\n")
    for pid, name, inode in [(12, "redis-server", 77), (13, "python", 78)]:
        (tmp_path / str(pid) / "fd").mkdir(parents=True)
        (tmp_path / str(pid) / "comm").write_text(f"{name}\n")
        os.symlink(f"socket:[{inode}]", tmp_path / str(pid) / "fd" / "5")
    return tmp_path


def test_the_program_and_its_process_are_named(proc: Path) -> None:
    assert port_in_use("port", 6379, 6381, str(proc)) == (
        "port 6379 is in use by redis-server, pid 12; try --port 6381"
    )


def test_of_python_the_module_is_named(proc: Path) -> None:
    (proc / "12" / "comm").write_text("python\n")
    (proc / "12" / "cmdline").write_bytes(b"python\0-m\0rillway\0serve\0--requirepass\0secret\0")
    assert listener(6379, str(proc)) == "python -m rillway, pid 12"


def test_a_connection_from_the_port_is_no_listener(proc: Path) -> None:
    assert listener(6380, str(proc)) is None


def test_a_process_that_cannot_be_read_is_not_named(proc: Path, tmp_path: Path) -> None:
    (proc / "12" / "fd" / "5").unlink()
    assert port_in_use("tls-port", 6379, None, str(proc)) == "port 6379 is in use"
    assert listener(6379, str(tmp_path / "none")) is None


def test_the_next_free_port_is_found() -> None:
    assert first_free(6379, lambda port: port == 6382) == 6382
    assert first_free(65_535, lambda port: True) is None
    assert first_free(6379, lambda port: False) is None


@pytest.mark.skipif(not os.path.exists("/proc/net/tcp"), reason="there is no /proc")
def test_a_socket_of_this_process_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        found = listener(server.getsockname()[1])
    assert found is not None and found.endswith(f", pid {os.getpid()}")
