"""DEBUG RELOAD and DEBUG LOADAOF."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessServer
from server.persistence.loading.loader import LoadFailed
from server.persistence.loading.reload import reload_append_only_file, reload_snapshot
from storage.digest import dataset_digest


def filled(appendonly: str = "no") -> InProcessServer:
    server = InProcessServer(appendonly=appendonly)
    client = server.connect()
    client.execute("XADD", "s", "1-1", "f", "v")
    client.execute("XGROUP", "CREATE", "s", "g", "0")
    client.execute("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
    return server


def digest(server: InProcessServer) -> bytes:
    return dataset_digest(server.instance.databases, server.now_ms)


def test_a_reload_gives_the_same_data() -> None:
    server = filled()
    before = digest(server)
    server.connect().execute("SAVE")
    server.connect().execute("SET", "a", 1)
    reload_snapshot(server.instance, server.files)
    assert digest(server) == before
    assert server.instance.dirty == 0


def test_a_reload_removes_keys_that_had_expired_from_file_and_replicas() -> None:
    server = InProcessServer(enable_debug_command="yes")
    client = server.connect()
    client.execute("SELECT", 2)
    client.execute("SET", "a", 1, "PX", 1000)
    assert server.persistence.save()
    server.files.put("kept.rdb", bytes(server.files.buffer("dump.rdb")))
    server.instance.config.dbfilename = "kept.rdb"
    server.now_ms += 2000
    server.propagated.clear()
    client.execute("DEBUG", "RELOAD", "NOSAVE")
    assert server.propagated == [(2, [[b"DEL", b"a"]])]


def test_the_append_only_file_gives_the_same_data_and_is_not_written_again() -> None:
    server = filled(appendonly="yes")
    before, files = digest(server), server.files.snapshot()
    reload_append_only_file(server.instance, server.files)
    server.tick()
    assert (digest(server), server.files.snapshot()) == (before, files)
    assert server.instance.dirty == 0


def test_a_reload_without_flush_refuses_keys_that_there_are_unless_it_merges() -> None:
    other = InProcessServer()
    other.connect().pipeline(("SET", "a", "file"), ("SET", "b", "file"), ("SAVE",))
    files = other.files
    server = InProcessServer()
    client = server.connect()
    client.execute("SET", "a", "memory", "EX", 100)
    client.execute("SET", "c", "memory")
    with pytest.raises(LoadFailed, match="comes twice"):
        reload_snapshot(server.instance, files, flush=False)
    reload_snapshot(server.instance, files, flush=False, merge=True)
    assert client.execute("MGET", "a", "b", "c") == (
        b"*3\r\n$4\r\nfile\r\n$4\r\nfile\r\n$6\r\nmemory\r\n"
    )
    assert client.execute("TTL", "a") == b":-1\r\n"


def test_blocked_clients_are_served_after_a_reload(server: InProcessServer) -> None:
    server.connect().execute("SAVE")  # of nothing
    server.connect().execute("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
    reader = server.connect()
    words = ("XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "STREAMS", "s", ">")
    assert reader.execute(*words) == b""
    reload_snapshot(server.instance, server.files)
    server.tick()
    assert reader.received().startswith(b"-NOGROUP ")
