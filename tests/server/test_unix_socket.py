"""server/unix_socket.py: stale socket files are replaced, and our own is removed at the end."""

from __future__ import annotations

import errno
import grp
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.unix_socket import SocketFile, give_to_group, make_way


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{tmp_path}/s")
        yield listener


def test_a_socket_without_a_listener_is_replaced(listener: socket.socket, tmp_path: Path) -> None:
    make_way(f"{tmp_path}/s")
    assert not (tmp_path / "s").exists()
    make_way(f"{tmp_path}/s")  # there is nothing


@pytest.mark.parametrize("clients", [0, 1])
def test_a_socket_with_a_listener_stays(
    listener: socket.socket, tmp_path: Path, clients: int
) -> None:
    listener.listen(0)
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


def test_only_the_socket_that_was_made_is_removed(listener: socket.socket, tmp_path: Path) -> None:
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
