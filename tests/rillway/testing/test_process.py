"""rillway/testing/process.py: start, stop, restart; no server outlives its test process."""

from __future__ import annotations

import atexit
import gc
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import redis

from rillway.testing.process import RillwayServer, ServerFailed
from rillway.testing.warm import IMPORT_ROOT
from tests.support.programs.processes import wait_until_gone

pytestmark = pytest.mark.integration


def process_id(server: RillwayServer) -> int:
    with redis.Redis.from_url(server.url) as client:
        return int(client.info("server")["process_id"])


def test_a_server_keeps_its_port_log_and_configuration_over_a_restart(tmp_path: Path) -> None:
    with RillwayServer({"requirepass": "a b/@:", "maxclients": 9}, folder=tmp_path) as server:
        first, port = process_id(server), server.port
        with redis.Redis.from_url(server.url) as client:
            client.config_set("maxclients", 11)
            client.config_rewrite()
        server.restart()
        assert server.port == port
        assert process_id(server) != first
        with redis.Redis.from_url(server.url) as client:
            assert client.config_get("maxclients")["maxclients"] in ("11", b"11")
        assert server.log.count("Ready to accept connections") == 2
        assert server.state == "running"
    assert server.state == "exit status 0"
    assert "scheduling shutdown" in server.log


def test_a_server_can_be_stopped_twice_and_started_again() -> None:
    server = RillwayServer()
    server.stop()
    assert server.state == "not started"
    server.start()
    first = process_id(server)
    server.start()
    assert process_id(server) == first
    server.stop()
    server.stop()
    assert not server.running
    server.start()
    assert process_id(server) != first
    server.stop()


def test_flushing_empties_all_databases() -> None:
    with RillwayServer() as server, redis.Redis.from_url(server.url) as client:
        client.xadd("s", {"a": "b"})
        client.move("s", 5)
        server.flush()
        assert client.info("keyspace") == {}


def test_a_temporary_folder_goes_with_its_server() -> None:
    server = RillwayServer()
    with server:
        folder = server.folder
        assert (folder / "server.log").exists()
    del server
    gc.collect()
    assert not folder.exists()


def test_it_listens_where_it_is_told_to_and_is_found_there() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    with RillwayServer({"port": free, "bind": "0.0.0.0"}) as server:
        assert server.url == f"redis://127.0.0.1:{free}/0"
        assert process_id(server)
    with RillwayServer({"bind": "::1"}) as server:
        assert server.url == f"redis://[::1]:{server.port}/0"
        assert process_id(server)


def test_the_environment_of_a_deployment_is_not_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RILLWAY_PORT", "1")
    monkeypatch.setenv("RILLWAY_REQUIREPASS", "secret")
    with RillwayServer() as server:
        server.flush()


def test_a_failed_start_says_what_was_printed_and_leaves_nothing() -> None:
    server = RillwayServer({"maxclients": "many"})
    with pytest.raises(ServerFailed, match=r"exit status 1[^$]*'maxclients'"):
        server.start()
    assert not server.running


def test_a_server_that_does_not_do_as_asked_is_a_failure() -> None:
    with RillwayServer() as server:
        with redis.Redis.from_url(server.url) as client:
            client.config_set("requirepass", "x")
        with pytest.raises(ServerFailed, match="NOAUTH"):
            server.flush()
        server.stop()
        with pytest.raises(ServerFailed, match=r"does not answer.*exit status 0"):
            server.flush()


def test_a_server_outlives_the_thread_that_started_it() -> None:
    server = RillwayServer()
    thread = threading.Thread(target=server.start)
    thread.start()
    thread.join()
    try:
        first = process_id(server)
        assert not wait_until_gone(first, deadline_seconds=0.3)
    finally:
        server.stop()


def test_a_fork_that_cleans_up_does_not_end_its_parents_server() -> None:
    with RillwayServer() as server:
        fork = os.fork()
        if fork == 0:
            try:
                server.stop()
                atexit._run_exitfuncs()
            finally:
                os._exit(0)
        os.waitpid(fork, 0)
        assert process_id(server)
        assert "Ready to accept connections" in server.log


@pytest.mark.parametrize("how", ["os.kill(os.getpid(), 9)", "os._exit(0)", "sys.exit(1)"])
def test_a_server_ends_with_the_process_that_started_it(how: str) -> None:
    program = (
        "import os, sys\n"
        "from rillway.testing.process import RillwayServer\n"
        "server = RillwayServer()\n"
        "server.start()\n"
        "print(server._process.pid, server.folder, flush=True)\n"
        f"{how}"
    )
    output = subprocess.run(
        [sys.executable, "-c", program], cwd=IMPORT_ROOT, stdout=subprocess.PIPE, text=True
    )
    pid, folder = output.stdout.split()
    assert wait_until_gone(int(pid), deadline_seconds=5)
    assert not Path(folder).exists()


def test_nothing_in_the_tests_folder_is_taken_for_a_module_of_the_server(tmp_path: Path) -> None:
    for name in ("server", "commands", "logging", "rillway"):
        (tmp_path / f"{name}.py").write_text("raise AssertionError('not this one')\n")
    with RillwayServer(folder=tmp_path) as server:
        server.flush()
