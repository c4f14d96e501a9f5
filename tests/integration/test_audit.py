"""The audit log and users' limits of a server process: kills, renames, a full disk, a rate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import StartRillway
from tests.support.programs.servers import RunningServer
from tests.support.resp import RespClient
from tests.support.waiting import until

pytestmark = pytest.mark.integration

CLIENTS = 4
AT_ONCE = 50


def lines(path: Path) -> list[dict[str, object]]:
    content = path.read_bytes()
    assert content.endswith(b"\n") or not content
    return [json.loads(line) for line in content.splitlines()]


def exchange(clients: list[RespClient], key: int) -> None:
    """Each client sends requests with keys of its own, all at once, and reads the replies."""
    for number, client in enumerate(clients):
        client.write_all([("GET", f"{number}:{key + at}") for at in range(AT_ONCE)])
    for client in clients:
        assert [client.read_reply() for _ in range(AT_ONCE)] == [b"$-1\r\n"] * AT_ONCE


def check(recorded: list[dict[str, object]], answered: int) -> None:
    """Nothing that was answered is missing, nothing is doubled, and the order is the clients'."""
    for number in range(CLIENTS):
        keys = [str(line["keys"][0]) for line in recorded if line["command"] == "get"]  # type: ignore[index]
        mine = [int(key.split(":")[1]) for key in keys if key.startswith(f"{number}:")]
        assert mine == list(range(len(mine)))
        assert len(mine) >= answered


def play(server: RunningServer, log: Path, requests: int, renames: int) -> list[dict[str, object]]:
    """Play requests, with renames on the way; the lines of all files."""
    clients = [server.connect() for _ in range(CLIENTS)]
    parts, rounds = 0, requests // (CLIENTS * AT_ONCE)
    for number in range(rounds):
        exchange(clients, number * AT_ONCE)
        if number % (rounds // renames) == 1 and parts < renames:
            log.rename(log.with_suffix(f".{parts}"))
            parts += 1
            until(log.exists)
    recorded = [line for part in range(parts) for line in lines(log.with_suffix(f".{part}"))]
    recorded += lines(log)
    assert [line["seq"] for line in recorded] == list(range(1, len(recorded) + 1))
    for client in clients:
        client.close()
    return recorded


def test_each_of_many_requests_has_one_line(run_rillway: StartRillway, tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    server = run_rillway("--audit-log", str(log), "--audit-events", "all")
    recorded = play(server, log, 2000, 1)
    check(recorded, 2000 // CLIENTS)


@pytest.mark.thorough
def test_each_of_a_million_requests_has_one_line(run_rillway: StartRillway, tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    server = run_rillway("--audit-log", str(log), "--audit-events", "all")
    recorded = play(server, log, 1_000_000, 5)
    check(recorded, 1_000_000 // CLIENTS)


def test_what_a_killed_server_has_answered_is_in_its_log(
    run_rillway: StartRillway, tmp_path: Path
) -> None:
    log = tmp_path / "audit.log"
    directives = ("--audit-log", str(log), "--audit-events", "all")
    answered = 0
    for _ in range(3):
        server = run_rillway(*directives)
        client = server.connect()
        client.write_all([("GET", f"0:{answered + at}") for at in range(5000)])
        for _ in range(100):
            client.read_reply()
        server.kill()
        client.close()
        run_rillway(*directives).stop()  # it removes the part of a line
        keys = [line["keys"] for line in lines(log) if line["command"] == "get"]
        assert len(keys) >= answered + 100
        assert keys == [[f"0:{number}"] for number in range(len(keys))]
        answered = len(keys)


def test_a_full_disk_refuses_administration(run_rillway: StartRillway) -> None:
    server = run_rillway(
        *("--audit-log", "/dev/full", "--audit-events", "admin", "--audit-required", "yes")
    )
    with server.connect() as client:
        client.send("CONFIG", "GET", "port")
        refused = client.send("CONFIG", "GET", "port")
        assert refused.startswith(b"-MISCONF The audit log cannot be written")
        assert client.send("SET", "k", "v") == b"+OK\r\n"
        assert b"audit_log_last_write_status:err" in client.send("INFO", "access")


def test_a_user_beyond_a_limit_leaves_others_alone(run_rillway: StartRillway) -> None:
    server = run_rillway("--user", "eager on nopass ~* +@all")
    with server.connect() as admin, server.connect() as eager, server.connect() as late:
        words = "eager connections 1 requests-per-second 20"
        assert admin.send("CONFIG", "SET", "user-limit", words) == b"+OK\r\n"
        assert eager.send("AUTH", "eager", "x") == b"+OK\r\n"
        assert late.send("AUTH", "eager", "x").startswith(b"-LIMIT User eager")
        answers = eager.pipeline([("PING",)] * 200)
        assert 20 <= answers.count(b"+PONG\r\n") < 200
        assert late.send("PING") == b"+PONG\r\n"
        refused = 200 - answers.count(b"+PONG\r\n")
        assert f"user_limit_refused_requests:{refused}\r\n".encode() in admin.send("INFO", "access")
