"""`rillway backup` of running servers, and what `rillway restore` makes of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rillway.backup.command import main as backup
from rillway.pipeline.wire.connection import Connection
from rillway.restore.command import main as restore
from tests.conftest import StartRillway
from tests.rillway.backup.copies import started
from tests.support.programs.servers import (
    COMPARED_REDIS,
    DEBIAN_REDIS,
    RunningServer,
    compared_redis,
    start_redis,
    start_rillway,
)
from tests.support.waiting import until

pytestmark = pytest.mark.integration


def url(server: RunningServer, login: str = "") -> str:
    return f"redis://{login}127.0.0.1:{server.port}"


def run(capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, Any]:
    assert backup([*map(str, words), "--json"]) == 0, capsys.readouterr().err
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def refused(
    capsys: pytest.CaptureFixture[str], main: Callable[[list[str]], int], *words: object
) -> str:
    assert main(list(map(str, words))) == 1
    return capsys.readouterr().err


def test_a_server_on_this_machine_is_copied_file_by_file(
    run_rillway: StartRillway, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = run_rillway("--appendonly", "yes", "--aof-keep-increments", "1h")
    with Connection(url(server)) as client:
        client.call("XADD", "s", "1-1", "f", "v")
        client.call("SET", "timed", "v", "PX", "600000")
        client.call("BGREWRITEAOF")
        until(lambda: b"aof_rewrite_in_progress:0" in client.call("INFO", "persistence"))
        first = run(capsys, "--url", url(server), "--to", tmp_path / "to")
        client.call("XADD", "s", "2-1", "f", "v")
        second = run(capsys, "--url", url(server), "--to", tmp_path / "to", "--incremental")
    (node,) = first["nodes"]
    assert node["kind"] == "append-only file" and node["databases"] == {"0": [2, 1]}
    assert len(node["kept"]) == 1 and len(node["kept"][0]["files"]) == 2
    assert second["new_bytes"] < first["bytes"]
    Path(second["place"], "backup.json").write_bytes(b"damaged")
    third = run(capsys, "--url", url(server), "--to", tmp_path / "to", "--incremental")
    assert third["bytes"] == second["bytes"]
    assert restore([str(tmp_path / "to"), "--dir", str(tmp_path / "new")]) == 0
    said = capsys.readouterr().out
    assert f"rillway serve --dir {tmp_path}/new --appendonly yes\n" in said
    copy = started(tmp_path / "new").connect()
    assert copy.execute("XLEN", "s") == b":2\r\n"
    assert copy.execute("EXISTS", "timed") == b":1\r\n"
    assert (
        b"is not empty"
        in refused(capsys, restore, tmp_path / "to", "--dir", tmp_path / "new").encode()
    )


@pytest.mark.parametrize("start", ["run_rillway", "run_redis"])
def test_any_server_sends_a_snapshot(
    start: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run_server: StartRillway = request.getfixturevalue(start)
    server = run_server("--repl-diskless-sync-delay", "0", "--aclfile", _acl_file(tmp_path))
    with Connection(url(server)) as client:
        client.call("XADD", "s", "1-1", "f", "v")
        client.call("SELECT", "3")
        client.call("SET", "timed", "v", "PX", "600000")
    made = run(capsys, "--url", url(server), "--to", tmp_path / "to")
    (node,) = made["nodes"]
    assert node["kind"] == "snapshot" and node["databases"] == {"0": [1, 0], "3": [1, 1]}
    assert made["new_bytes"] == made["bytes"]
    assert restore([str(tmp_path / "to"), "--dir", str(tmp_path / "new")]) == 0
    assert "--dbfilename dump.rdb --aclfile users.acl" in capsys.readouterr().out
    assert (tmp_path / "new/dump.rdb").read_bytes().startswith(b"REDIS")
    assert "user default on" in (tmp_path / "new/users.acl").read_text()
    assert "which has no other moment" in refused(
        capsys, restore, tmp_path / "to", "--dir", tmp_path / "x", "--to", "2026-01-01T00:00:00Z"
    )
    with Connection(url(server)) as client:  # what was a replica has left
        until(lambda: b"connected_slaves:0" in client.call("INFO", "replication"))


def test_two_that_begin_in_the_same_millisecond_leave_one(
    run_rillway: StartRillway,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = run_rillway("--appendonly", "yes")
    monkeypatch.setattr("rillway.backup.work.now_ms", lambda: 1_795_000_000_000)
    run(capsys, "--url", url(server), "--to", tmp_path / "to")
    monkeypatch.setattr("rillway.backup.store.FolderStore.names", lambda *_: [])  # not there yet
    refusal = refused(capsys, backup, "--url", url(server), "--to", tmp_path / "to")
    assert "begun.json: File exists" in refusal
    monkeypatch.undo()
    assert restore([str(tmp_path / "to"), "--check"]) == 0


def _acl_file(folder: Path) -> str:
    file = folder / "users.acl"
    file.write_text("user default on nopass ~* &* +@all\n")
    return str(file)


@pytest.mark.parametrize(
    ("stream_type", "program", "line"),
    [
        ("19", "redis-server", DEBIAN_REDIS),
        ("auto", "", COMPARED_REDIS),
    ],
)
def test_a_copy_of_files_is_started_by_redis_server(
    stream_type: str,
    program: str,
    line: str,
    run_rillway: StartRillway,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server = run_rillway("--appendonly", "yes", "--rdb-stream-type", stream_type)
    with Connection(url(server)) as client:
        client.call("XADD", "s", "1-1", "f", "v")
        client.call("XGROUP", "CREATE", "s", "g", "0")
        client.call("BGREWRITEAOF")
        until(lambda: b"aof_rewrite_in_progress:0" in client.call("INFO", "persistence"))
        client.call("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
        expected = client.call("XPENDING", "s", "g")
    run(capsys, "--url", url(server), "--to", tmp_path / "to")
    assert restore([str(tmp_path / "to"), "--dir", str(tmp_path / "new")]) == 0
    program = program or compared_redis() or ""
    copy = start_redis(tmp_path / "new", "--appendonly", "yes", program=program, line=line)
    with Connection(url(copy)) as client:
        assert client.call("XPENDING", "s", "g") == expected
    copy.stop()


def test_a_cluster_is_one_back_up(
    run_rillway: StartRillway, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    servers = [run_rillway("--cluster-enabled", "yes", "--appendonly", "yes") for _ in range(2)]
    first, second = (Connection(url(server)) for server in servers)
    first.call("CLUSTER", "ADDSLOTSRANGE", "0", "8191")
    assert "8192 slots have no primary" in refused(
        capsys, backup, "--url", url(servers[0]), "--to", tmp_path / "to", "--cluster"
    )
    second.call("CLUSTER", "ADDSLOTSRANGE", "8192", "16383")
    first.call("CLUSTER", "MEET", "127.0.0.1", servers[1].port)
    until(
        lambda: all(b"cluster_state:ok" in one.call("CLUSTER", "INFO") for one in (first, second))
    )
    second.call("SET", "foo", "1")  # slot 12182
    first.call("SET", "bar", "1")  # slot 5061
    made = run(capsys, "--url", url(servers[0]), "--to", tmp_path / "to", "--cluster")
    nodes = made["nodes"]
    assert [node["slots"] for node in nodes] == [[[0, 8191]], [[8192, 16383]]]
    assert [node["databases"] for node in nodes] == [{"0": [1, 0]}] * 2
    assert restore([str(tmp_path / "to"), "--dir", str(tmp_path / "new")]) == 0
    said = capsys.readouterr().out
    assert "CLUSTER MEET" in said and "--cluster-enabled yes" in said
    for node, key in zip(nodes, ("bar", "foo"), strict=True):
        copy = started(tmp_path / "new" / node["name"])
        assert copy.connect().execute("GET", key) == b"$1\r\n1\r\n"
    place = tmp_path / "new" / nodes[1]["name"]
    copied = start_rillway(place, "--appendonly", "yes", "--cluster-enabled", "yes")
    with Connection(url(copied)) as client:
        assert client.call("CLUSTER", "SLOTS")[0][:2] == [8192, 16383]
    copied.stop()
    first.close()
    second.close()


def test_what_fails_leaves_nothing_and_says_why(
    run_rillway: StartRillway, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = run_rillway("--appendonly", "yes")
    with Connection(url(server)) as client:
        client.call("ACL", "SETUSER", "ops", "on", ">secret", "+info", "+cluster|nodes")
    words = ["--url", url(server, "ops:secret@"), "--to", tmp_path / "to"]
    why = refused(capsys, backup, *words)
    assert "BACKUP FILES: NOPERM" in why and "secret" not in why
    with Connection(url(server)) as client:
        client.call("ACL", "SETUSER", "ops", "+backup")
    run(capsys, *words)
    assert len(list((tmp_path / "to").iterdir())) == 1
    server.stop()
    assert "Connection refused" in refused(capsys, backup, *words)
    assert len(list((tmp_path / "to").iterdir())) == 1


def test_an_unfinished_back_up_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "to/20261124T140300.000Z"
    place.mkdir(parents=True)
    (place / "begun.json").write_text('{"began_ms": 1764000000000}')
    for source in (place, tmp_path / "to"):
        why = refused(capsys, restore, source, "--dir", tmp_path / "new")
        assert "was begun at 2025-11-24T16:00:00Z and was not finished: it has no backup" in why
    assert "is no back-up" in refused(capsys, restore, tmp_path, "--check")
