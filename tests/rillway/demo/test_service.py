"""The demo's own server."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
import redis

from rillway.demo.service import ServerFailed, Service

pytestmark = pytest.mark.integration


def test_a_service_answers_on_a_free_port_until_it_is_stopped(tmp_path: Path) -> None:
    service = Service(tmp_path / "run", port=0)
    try:
        with redis.Redis.from_url(service.url) as client:
            assert client.ping()
        assert int((tmp_path / "run/server.pid").read_text()) == service.process.pid
    finally:
        service.stop()
    assert service.process.returncode == 0
    assert not (tmp_path / "run/server.pid").exists()


def test_a_used_port_is_a_failure_and_no_other_server_is_used(tmp_path: Path) -> None:
    service = Service(tmp_path / "first", port=0)
    try:
        with pytest.raises(ServerFailed, match=str(service.port)):
            Service(tmp_path / "second", port=service.port)
        assert not (tmp_path / "second/server.pid").exists()
    finally:
        service.stop()


def test_a_port_held_by_something_silent_is_a_failure(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder, pytest.raises(ServerFailed):
        Service(tmp_path, port=holder.getsockname()[1])
    assert os.listdir(tmp_path) == ["server.log"]
