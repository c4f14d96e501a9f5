"""server/loop/listeners.py: stale socket files are replaced, and our own is removed at the end."""

from __future__ import annotations

import errno
import grp
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands.config.configuration import Configuration
from server.loop.listeners import (
    SocketFile,
    exposure_warning,
    first_free,
    give_to_group,
    listener,
    make_way,
    metrics_warning,
    port_in_use,
)

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


EVERYWHERE = [("tcp", "*", 6379), ("tcp", "::*", 6379)]
ENCRYPTED = [("tls", "*", 6379)]
LOOPBACK = [("tcp", "127.0.0.1", 6379), ("tcp", "::1", 6379), ("unix", "/run/rillway.sock", 0)]


def configured(**directives: str) -> Configuration:
    config = Configuration()
    for name, text in directives.items():
        config.set(name.replace("_", "-"), [text])
    return config


def test_without_a_password_and_protection_it_is_open() -> None:
    listeners = [*LOOPBACK, *EVERYWHERE]
    warning = exposure_warning(configured(protected_mode="no"), listeners, requires_login=False)
    assert warning is not None and "\n" not in warning
    assert "everyone who reaches port 6379 on * or port 6379 on ::* may" in warning
    assert "RILLWAY_REQUIREPASS" in warning


def test_a_tls_port_is_open_if_clients_need_no_certificate() -> None:
    for mode, is_open in (("no", True), ("optional", False), ("yes", False)):
        config = configured(protected_mode="no", tls_auth_clients=mode)
        warning = exposure_warning(config, ENCRYPTED, requires_login=False)
        assert (warning is not None) is is_open


@pytest.mark.parametrize(
    ("mode", "listeners", "requires_login"),
    [
        ("no", EVERYWHERE, True),
        ("yes", EVERYWHERE, False),
        ("no", LOOPBACK, False),
        ("no", [], False),
    ],
)
def test_otherwise_there_is_nothing_to_warn_of(
    mode: str, listeners: list[tuple[str, str, int]], requires_login: bool
) -> None:
    config = configured(protected_mode=mode)
    assert exposure_warning(config, listeners, requires_login=requires_login) is None


def test_metrics_that_others_may_read_are_worth_a_warning() -> None:
    assert metrics_warning(configured(), ["127.0.0.1", "::1"]) is None
    assert metrics_warning(configured(metrics_user="health"), ["*"]) is None
    warning = metrics_warning(configured(metrics_port="9121"), ["127.0.0.1", "10.0.0.7"])
    assert "port 9121 on 10.0.0.7" in str(warning)


@pytest.fixture
def stale(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{tmp_path}/s")
        yield listener


def test_a_socket_without_a_listener_is_replaced(stale: socket.socket, tmp_path: Path) -> None:
    make_way(f"{tmp_path}/s")
    assert not (tmp_path / "s").exists()
    make_way(f"{tmp_path}/s")  # there is nothing


@pytest.mark.parametrize("clients", [0, 1])
def test_a_socket_with_a_listener_stays(stale: socket.socket, tmp_path: Path, clients: int) -> None:
    stale.listen(0)
    waiting = [socket.socket(socket.AF_UNIX) for _ in range(clients)]
    for client in waiting:
        client.connect(f"{tmp_path}/s")
    with pytest.raises(OSError, match="another server listens there") as refused:
        make_way(f"{tmp_path}/s")
    assert refused.value.errno == errno.EADDRINUSE
    assert (tmp_path / "s").exists()
    for client in waiting:
        client.close()


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_only_a_socket_is_replaced(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "s"
    if kind == "file":
        path.write_text("precious")
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("elsewhere")
    with pytest.raises(OSError, match="which is not a socket"):
        make_way(str(path))
    assert os.path.lexists(path)


def test_only_the_socket_that_was_made_is_removed(stale: socket.socket, tmp_path: Path) -> None:
    file = SocketFile(f"{tmp_path}/s")
    (tmp_path / "s").rename(tmp_path / "mine")
    (tmp_path / "s").write_text("somebody else's")
    file.remove()
    assert (tmp_path / "s").exists()
    (tmp_path / "mine").rename(tmp_path / "s")
    file.remove()
    assert not (tmp_path / "s").exists()
    file.remove()


def test_the_file_is_given_to_a_group_that_there_is(tmp_path: Path) -> None:
    path = tmp_path / "s"
    path.touch()
    own = grp.getgrgid(os.getgid())
    give_to_group(str(path), own.gr_name)
    assert path.stat().st_gid == own.gr_gid
    with pytest.raises(OSError, match="there is no group 'no-such-group'"):
        give_to_group(str(path), "no-such-group")
