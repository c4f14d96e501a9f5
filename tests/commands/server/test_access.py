"""Who counts as local, and what that allows."""

from __future__ import annotations

import pytest

from commands.server.access import is_allowed, is_local
from server.inprocess.server import InProcessServer


@pytest.mark.parametrize(
    ("address", "local"),
    [
        (b"127.0.0.1:5000", True),
        (b"127.8.9.10:5000", True),
        (b"[::1]:5000", True),
        (b"", True),
        (b"10.0.0.1:5000", False),
        (b"[::1:2]:5000", False),
        (b"[fe80::1]:5000", False),
    ],
)
def test_a_client_is_local_by_its_address(address: bytes, local: bool) -> None:
    client = InProcessServer().connect().state
    client.address = address
    assert is_local(client) is local


def test_a_unix_socket_is_local() -> None:
    client = InProcessServer().connect().state
    client.address, client.connection.unix_socket = b"/run/rillway.sock:0", True
    assert is_local(client)


@pytest.mark.parametrize(
    ("setting", "near", "far"), [("yes", True, True), ("local", True, False), ("no", False, False)]
)
def test_a_setting_lets_everyone_the_local_ones_or_no_one(
    setting: str, near: bool, far: bool
) -> None:
    client = InProcessServer().connect().state
    assert is_allowed(setting, client) is near
    client.address = b"10.0.0.1:5000"
    assert is_allowed(setting, client) is far
