"""A process that has imported the server, and the servers that are its forks."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest
import redis

from rillway.testing import RillwayServer, warm
from rillway.testing.warm import Launcher, LauncherFailed, WarmProcess
from tests.support.programs.processes import wait_until_gone

pytestmark = pytest.mark.integration


def facts(server: RillwayServer) -> dict[str, object]:
    """What tells one server from another."""
    with redis.Redis.from_url(server.url, decode_responses=True) as client:
        info = client.info("everything")
        return {
            "process": info["process_id"],
            "run": info["run_id"],
            "replication": info["master_replid"],
            "started by": os.path.basename(client.config_get("dir")["dir"]),
        }


def test_nothing_of_a_server_is_in_the_next_one(tmp_path: Path) -> None:
    with RillwayServer(folder=tmp_path) as server:
        first = facts(server)
        with redis.Redis.from_url(server.url) as client:
            client.set("key", "value")
            client.config_set("maxclients", 17)
            client.config_set("slowlog-log-slower-than", 0)
            client.config_set("latency-monitor-threshold", 1)
            client.acl_setuser("alice", enabled=True, nopass=True)
            client.function_load("#!lua name=mine\nredis.register_function('f', function() end)")
            client.script_load("return 1")
            client.execute_command("CLIENT", "PAUSE", 100_000, "WRITE")
            client.execute_command("REPLICAOF", "127.0.0.1", "1")
        server.restart()
        second = facts(server)
        with redis.Redis.from_url(server.url) as client:
            assert client.dbsize() == 0
            assert client.config_get("maxclients") == {"maxclients": "10000"}
            assert client.acl_users() == ["default"]
            assert client.function_list() == []
            assert client.script_exists("e0e1f9fabfc9d4800c877a703b823ac0578ff8db") == [False]
            assert client.info("replication")["role"] == "master"
            logged = [entry["command"].split()[0] for entry in client.slowlog_get()]
            assert b"REPLICAOF" not in logged  # a busy machine may make others slow
            assert client.config_get("latency-monitor-threshold") == {
                "latency-monitor-threshold": "0"
            }
            assert client.set("key", "value")
    assert {name for name in first if first[name] == second[name]} == {"started by"}


def test_servers_of_several_threads_run_beside_each_other() -> None:
    servers = [RillwayServer() for _ in range(4)]
    threads = [threading.Thread(target=server.start) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({facts(server)["run"] for server in servers}) == 4
    for server in servers:
        server.stop()


def test_servers_end_with_the_launcher_and_the_next_one_has_another(tmp_path: Path) -> None:
    with RillwayServer(folder=tmp_path) as server:
        process = server._process
        assert process is not None
        launcher = process._launcher
        os.kill(launcher._process.pid, signal.SIGKILL)
        assert wait_until_gone(process.pid, deadline_seconds=5)
        assert server.state == "exit status -9"
        server.start()
        assert facts(server) and warm._launcher is not launcher


def test_a_launcher_that_cannot_import_the_server_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "launcher.py"
    broken.write_text("import there_is_no_such_module")
    monkeypatch.setattr(warm, "LAUNCHER", broken)
    with pytest.raises(LauncherFailed, match="there_is_no_such_module"):
        WarmProcess(Launcher(), [])


def test_a_fork_asks_nothing_of_its_parents_launcher() -> None:
    with RillwayServer() as server:
        child = os.fork()
        if not child:
            with RillwayServer() as own:
                os._exit(not own.running or facts(own)["run"] == facts(server)["run"])
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert facts(server)
