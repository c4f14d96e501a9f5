"""BACKUP FILES: the files that have all data of a moment."""

from __future__ import annotations

from typing import Any

import hiredis

from server.inprocess.server import InProcessServer

FOLDER = "appendonlydir"


def ask(server: InProcessServer) -> dict[bytes, Any]:
    reader = hiredis.Reader()
    reader.feed(server.connect().execute("BACKUP", "FILES"))
    words: Any = reader.gets()
    return dict(zip(words[::2], words[1::2], strict=True))


def test_the_files_end_with_the_last_request() -> None:
    server = InProcessServer(200_000, appendonly="yes")
    client = server.connect()
    client.execute("SET", "k", "v", "PX", 1000)
    client.execute("SELECT", 3)
    client.execute("SET", "k", "v")
    found = ask(server)
    assert found[b"time-ms"] == 200_000
    assert found[b"databases"] == [[0, 1, 1], [3, 1, 0]]
    assert found[b"pending-bytes"] == 0
    names = [name.decode() for name in found[b"files"]]
    sizes = [len(server.files.snapshot()[f"{FOLDER}/{name}"]) for name in names]
    assert found[b"sizes"] == sizes
    assert found[b"manifest"] == server.files.snapshot()[f"{FOLDER}/appendonly.aof.manifest"]
    assert found[b"folder"].endswith(FOLDER.encode())


def test_without_an_append_only_file_there_is_the_moment_only() -> None:
    found = ask(InProcessServer(200_000))
    assert found[b"time-ms"] == 200_000 and found[b"folder"] == b"" and found[b"files"] == []


def test_what_is_kept_is_named_with_its_end() -> None:
    server = InProcessServer(200_000, appendonly="yes", aof_keep_increments="1h")
    server.connect().execute("BGREWRITEAOF")
    for _ in range(3):
        server.tick()
    ((until_ms, names, manifest),) = ask(server)[b"kept"]
    assert until_ms == 200_000 and len(names) == 2 and manifest.count(b"\n") == 2


def test_a_user_needs_the_right_to_it() -> None:
    server = InProcessServer()
    client = server.connect()
    client.execute("ACL", "SETUSER", "ops", "on", "nopass", "-@all", "+backup")
    client.execute("ACL", "SETUSER", "app", "on", "nopass", "+@all", "-@admin", "~*")
    client.execute("AUTH", "ops", "x")
    assert client.execute("BACKUP", "FILES").startswith(b"*")
    client.execute("AUTH", "app", "x")
    assert client.execute("BACKUP", "FILES").startswith(b"-NOPERM")


def test_it_runs_in_no_transaction() -> None:
    client = InProcessServer().connect()
    client.execute("MULTI")
    reply = client.execute("BACKUP", "FILES")
    assert reply.startswith(b"-ERR Command not allowed inside a transaction")
