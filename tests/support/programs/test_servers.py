"""A server that cannot start says why; one that runs answers on its own port."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.programs import servers
from tests.support.programs.servers import RunningServer, ServerFailed


def test_a_missing_redis_server_is_a_failure_that_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServerFailed, match="apt-get install redis-server"):
        servers.start_redis(tmp_path)


def test_another_line_of_redis_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(servers, "redis_version", lambda program: "6.2.1")
    with pytest.raises(ServerFailed, match=r"redis-server is of version 6\.2\.1"):
        servers.start_redis(tmp_path)


def test_a_server_that_does_not_start_reports_what_it_printed(tmp_path: Path) -> None:
    with pytest.raises(ServerFailed, match="exit status"):
        servers.start_rillway(tmp_path, "--no-such-directive", "1")


def test_the_redis_server_answers_and_persists_nothing(redis_server: RunningServer) -> None:
    with redis_server.connect() as client:
        assert client.send("CONFIG", "GET", "save") == b"*2\r\n$4\r\nsave\r\n$0\r\n\r\n"
        assert client.send("CONFIG", "GET", "appendonly").endswith(b"$2\r\nno\r\n")


def test_the_server_runs_compiled_where_compiled_modules_are_served(
    rillway_server: RunningServer,
) -> None:
    is_compiled = any(servers.SERVED.glob("rillway/app/**/*.so"))
    with rillway_server.connect() as client:
        assert b"rillway_compiled:%d\r\n" % is_compiled in client.send("INFO", "server")
