"""aof-keep-increments: what rewrites replace is kept for a time, and a server goes back by it."""

from __future__ import annotations

from errno import ENOSPC

import pytest

from server.check.command import SOUND
from server.inprocess.memory_files import MemoryFiles
from server.inprocess.server import InProcessServer
from server.persistence.append_only.kept_files import KeptFiles
from storage.append_only.manifest import BASE, INCREMENT, Manifest, Part
from tests.server.check.test_command import run as check

FOLDER = "appendonlydir"
KEPT = f"{FOLDER}/kept"
HOUR_MS = 3_600_000


def keeping(now_ms: int = 200_000, keep: str = "24h") -> InProcessServer:
    return InProcessServer(
        now_ms, appendonly="yes", aof_timestamp_enabled="yes", aof_keep_increments=keep
    )


def rewrite(server: InProcessServer) -> None:
    assert server.connect().execute("BGREWRITEAOF").startswith(b"+Background")
    for _ in range(3):
        server.tick()


def kept_names(server: InProcessServer) -> list[str]:
    found = [path.rpartition("/")[2] for path in server.files.snapshot() if path.startswith(KEPT)]
    return sorted(name for name in found if name != "generations")


def part(number: int, kind: str = INCREMENT) -> Part:
    suffix = "base.rdb" if kind == BASE else "incr.aof"
    return Part(f"appendonly.aof.{number}.{suffix}", number, kind)


def test_a_rewrite_moves_what_it_replaces() -> None:
    server = keeping()
    server.connect().execute("SET", "k", "v")
    rewrite(server)
    assert kept_names(server) == ["appendonly.aof.1.base.rdb", "appendonly.aof.1.incr.aof"]
    assert b"until 200000\nfile" in server.files.snapshot()[f"{KEPT}/generations"]
    assert b"type h" not in server.files.snapshot()[f"{FOLDER}/appendonly.aof.manifest"]


def test_without_the_directive_nothing_is_kept() -> None:
    server = keeping(keep="0")
    rewrite(server)
    assert not any(path.startswith(KEPT) for path in server.files.snapshot())


def test_what_is_older_is_removed() -> None:
    server = keeping()
    rewrite(server)
    server.advance(23 * HOUR_MS)
    server.tick()
    assert kept_names(server)
    server.advance(2 * HOUR_MS)
    for _ in range(2):
        server.tick()
    assert not kept_names(server)


def test_a_server_starts_from_what_was_kept_and_goes_back_to_a_second_of_it() -> None:
    server = keeping()
    client = server.connect()
    for second in range(200, 206):
        client.execute("RPUSH", "l", second)
        if second in (201, 203):
            rewrite(server)
        server.advance(1000)
    old = MemoryFiles()
    old.make_directory(FOLDER)
    generation = server.persistence.append_only_file.directory.kept.generations[1]
    for name in generation.names:
        old.put(f"{FOLDER}/{name}", server.files.snapshot()[f"{KEPT}/{name}"])
    listed = f"{FOLDER}/appendonly.aof.manifest"
    old.put(listed, generation.manifest.format())
    assert check(old, listed, back_to=202) == SOUND
    copy = InProcessServer.on_files(old, appendonly="yes")
    assert copy.connect().execute("LRANGE", "l", 0, -1).count(b"$3") == 3


def test_a_crash_before_the_new_manifest_leaves_the_files_in_force() -> None:
    files = MemoryFiles()
    files.make_directory(FOLDER)
    kept = KeptFiles(files, FOLDER)
    first = Manifest(part(1, BASE), (part(1),))
    second = Manifest(part(2, BASE), (part(2), part(3)))
    kept.keep(first, 100)
    kept.keep(second, 200)
    again = KeptFiles(files, FOLDER)
    again.read(second.loaded)
    assert [each.manifest for each in again.generations] == [first]
    assert again.place_of(part(1).name) and not again.place_of(part(3).name)
    again.read(())
    assert [each.until_ms for each in again.generations] == [100, 200]


def test_a_start_removes_what_an_interrupted_removal_has_left() -> None:
    server = keeping()
    rewrite(server)
    kept = server.persistence.append_only_file.directory.kept
    server.files.put(f"{KEPT}/appendonly.aof.9.incr.aof", b"")
    again = server.restart()
    assert kept_names(again) == ["appendonly.aof.1.base.rdb", "appendonly.aof.1.incr.aof"]
    whole = again.files.snapshot()[f"{KEPT}/generations"]
    assert kept.expire(10**13) and not kept.generations
    # Files are left alone where the list was not understood.
    server.files.put(f"{KEPT}/generations", whole + b"until x\n")
    server.files.put(f"{KEPT}/appendonly.aof.9.incr.aof", b"")
    assert "appendonly.aof.9.incr.aof" in kept_names(server.restart())


def test_a_name_that_comes_again_takes_the_place_of_the_older_file() -> None:
    files = MemoryFiles()
    files.make_directory(FOLDER)
    kept = KeptFiles(files, FOLDER)
    for until_ms in (100, 200):
        kept.keep(Manifest(part(1, BASE), (part(1),)), until_ms)
    assert [each.until_ms for each in kept.generations] == [200]


@pytest.mark.parametrize("call", range(1, 9))
@pytest.mark.parametrize("operation", ["create", "write", "sync", "rename", "sync_directory"])
def test_nothing_is_lost_whatever_fails_of_a_rewrite(operation: str, call: int) -> None:
    server = keeping()
    client = server.connect()
    client.execute("SET", "k", "v")
    server.files.fail(operation, ENOSPC, at=call)
    client.execute("BGREWRITEAOF")
    for _ in range(3):
        server.tick()
    server.files.heal()
    server.tick()
    assert client.execute("SET", "k2", "v") == b"+OK\r\n"
    in_force = server.persistence.append_only_file.directory.manifest.loaded
    again = server.restart()
    assert again.connect().execute("MGET", "k", "k2") == b"*2\r\n$1\r\nv\r\n$1\r\nv\r\n"
    kept = again.persistence.append_only_file.directory.kept.generations
    assert not {name for each in kept for name in each.names} & {each.name for each in in_force}
