"""Single misfortunes, each in the order that hurts: what was acknowledged is there afterwards."""

from __future__ import annotations

import os
import random
import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from protocol import replies
from server.inprocess.memory_files import MemoryFiles
from server.inprocess.server import InProcessServer
from tests.commands.streams.talk import decode
from tests.crash.memory_rounds import FailingFiles, PowerFails
from tests.crash.servers import (
    DidNotStart,
    Link,
    Server,
    begin_rillway,
    wait_until_loaded,
)
from tests.support.programs import processes
from tests.support.waiting import until

pytestmark = pytest.mark.integration

ALWAYS = ("--appendonly", "yes", "--appendfsync", "always", "--save", "")
EVERYSEC = ("--appendonly", "yes", "--appendfsync", "everysec", "--save", "")
WAIT_SECONDS = 60.0
DAY_MS = 1_700_000_000_000
NEXT_DAY_MS = DAY_MS + 86_400_000

Start: TypeAlias = Callable[..., Server]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


@pytest.fixture
def start(tmp_path: Path, data: Path) -> Iterator[Start]:
    """start(directives...): a Rillway on the folder `data`, which has loaded."""
    started: list[Server] = []

    def one(*directives: str, waits: bool = True) -> Server:
        server = begin_rillway(data, tmp_path / f"{len(started)}.log", directives)
        started.append(server)
        return wait_until_loaded(server) if waits else server

    yield one
    for server in started:
        server.stop()


def add(link: Link, count: int, key: str = "s") -> list[Any]:
    """Entries that are acknowledged: their IDs."""
    ids = [link.ask("XADD", key, "*", "n", i) for i in range(count)]
    assert not [reply for reply in ids if isinstance(reply, Exception)]
    return ids


def ids_in(server: Server, key: str = "s") -> list[bytes]:
    with Link(server.port) as link:
        return [entry[0] for entry in link.ask("XRANGE", key, "-", "+")]


def is_quiet(link: Link) -> bool:
    info = link.ask("INFO", "persistence")
    return b"aof_rewrite_in_progress:0" in info and b"aof_rewrite_scheduled:0" in info


def test_a_single_file_of_redis_6_survives_kills_while_it_is_taken_over(
    start: Start, data: Path
) -> None:
    ids = [b"%d-1" % i for i in range(1, 3001)]
    requests = [[b"SELECT", b"0"], *([b"XADD", b"s", i, b"f", b"v" * 40] for i in ids)]
    (data / "appendonly.aof").write_bytes(b"".join(map(replies.command, requests)))
    chance = random.Random(1)
    for _ in range(4):
        server = start(*ALWAYS, waits=False)
        time.sleep(chance.uniform(0.1, 0.5))
        server.kill()
    server = start(*ALWAYS)
    assert ids_in(server) == ids
    with Link(server.port) as link:
        ids += add(link, 5)
    server.kill()
    assert ids_in(start(*ALWAYS)) == ids


def test_a_full_disk_refuses_writes_and_loses_nothing_that_was_acknowledged(
    start: Start,
) -> None:
    server = start(*EVERYSEC)
    with Link(server.port) as link:
        ids = add(link, 50)
        limit_file_size(server, 5000)
        answers = [link.ask("XADD", "s", "*", "n", "x" * 100) for _ in range(100)]
        ids += [reply for reply in answers if not isinstance(reply, Exception)]
        refused = [str(reply) for reply in answers if isinstance(reply, Exception)]
        assert refused and all(text.startswith("MISCONF") for text in refused)
        assert b"aof_last_write_status:err" in link.ask("INFO", "persistence")
        assert link.ask("XLEN", "s") == len(ids)
        limit_file_size(server, resource.RLIM_INFINITY)
        until(lambda: b"aof_last_write_status:ok" in link.ask("INFO", "persistence"))
        ids += add(link, 20)
    server.kill()
    assert ids_in(start(*EVERYSEC)) == ids


def test_a_disk_that_stays_full_keeps_what_was_written(start: Start) -> None:
    server = start(*EVERYSEC)
    with Link(server.port) as link:
        ids = add(link, 20)
        limit_file_size(server, 3000)
        answers = [link.ask("XADD", "s", "*", "n", "x" * 100) for _ in range(50)]
        # What was acknowledged in the cycle that met the full disk is in the buffer only, as in
        # Redis: the reply leaves, the next write is refused.
        answered = [reply for reply in answers if not isinstance(reply, Exception)]
    server.kill()
    found = ids_in(start(*EVERYSEC))
    assert found in ([*ids, *answered], [*ids, *answered[:-1]])


def test_a_full_disk_ends_a_server_that_promised_always(start: Start) -> None:
    server = start(*ALWAYS)
    ids: list[Any] = []
    with Link(server.port) as link:
        ids = add(link, 20)
        limit_file_size(server, 3000)
        with pytest.raises(ConnectionError):
            while True:
                ids.append(link.ask("XADD", "s", "*", "n", "x" * 100))
    assert server.process.wait(WAIT_SECONDS) == 1
    assert "Can't recover from AOF write error" in server.log.read_text()
    # The one that was not answered may be there, but is not: what it wrote is torn.
    assert ids_in(start(*ALWAYS)) == ids


@pytest.mark.parametrize("preamble", ["yes", "no"])
def test_a_rewrite_that_the_disk_does_not_take_leaves_the_old_files_in_charge(
    start: Start, data: Path, preamble: str
) -> None:
    server = start(*EVERYSEC, "--aof-use-rdb-preamble", preamble)
    with Link(server.port) as link:
        # Snapshots compress: what is added does not.
        ids = [link.ask("XADD", "s", "*", "n", random.Random(i).randbytes(100)) for i in range(99)]
        limit_file_size(server, 2000)
        link.ask("BGREWRITEAOF")
        until(lambda: b"aof_last_bgrewrite_status:err" in link.ask("INFO", "persistence"))
        limit_file_size(server, resource.RLIM_INFINITY)
        until(lambda: b"aof_last_write_status:ok" in link.ask("INFO", "persistence"))
        ids += add(link, 20)
    server.kill()
    server = start(*EVERYSEC)
    assert ids_in(server) == ids
    assert not [path for path in data.rglob("temp-*") if path.is_file()]


def test_a_snapshot_that_the_disk_does_not_take_stops_writes_and_keeps_the_old_one(
    start: Start,
) -> None:
    server = start("--save", "3600 1")
    with Link(server.port) as link:
        ids = [link.ask("XADD", "s", "*", "n", random.Random(i).randbytes(100)) for i in range(99)]
        assert link.ask("SAVE") == b"OK"
        link.ask("XADD", "s", "*", "n", "too late")
        limit_file_size(server, 2000)
        link.ask("BGSAVE")
        until(lambda: b"rdb_last_bgsave_status:err" in link.ask("INFO", "persistence"))
        refusal = link.ask("XADD", "s", "*", "n", "refused")
        assert str(refusal).startswith("MISCONF")
        assert link.ask("XLEN", "s") == 100
    server.kill()
    assert ids_in(start("--save", "3600 1")) == ids


def test_a_child_that_is_killed_leaves_the_old_files_in_charge(start: Start) -> None:
    server = start(*ALWAYS)
    with Link(server.port) as link:
        ids = add(link, 200)
        for _ in range(4):
            link.ask("BGREWRITEAOF")
            for pid in children_of(server.process.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            until(lambda: is_quiet(link))
            ids += add(link, 5)
    server.kill()
    assert ids_in(start(*ALWAYS)) == ids


def limit_file_size(server: Server, size: int) -> None:
    """Let no file of the server grow beyond `size` bytes, as on a full disk."""
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def test_the_file_is_switched_off_and_on_under_traffic_and_kills(start: Start) -> None:
    ids: list[Any] = []
    chance = random.Random(1)
    for _ in range(3):
        server = start(*ALWAYS)
        assert ids_in(server) == ids
        with Link(server.port) as link, Link(server.port) as writer:
            ids += add(writer, 50)
            assert link.ask("CONFIG", "SET", "appendonly", "no") == b"OK"
            ids += add(writer, 50)
            assert link.ask("CONFIG", "SET", "appendonly", "yes") == b"OK"
            while not is_quiet(link):
                ids += add(writer, 1)
            ids += add(writer, chance.randrange(50))
        server.kill()
    assert ids_in(start(*ALWAYS)) == ids


def test_a_kill_while_the_file_is_switched_on_leaves_the_one_before(start: Start) -> None:
    server = start(*ALWAYS)
    with Link(server.port) as link:
        ids = add(link, 50)
        link.ask("CONFIG", "SET", "appendonly", "no")
        add(link, 50)
        link.ask("CONFIG", "SET", "appendonly", "yes")
    server.kill()
    found = ids_in(start(*ALWAYS))
    assert found[:50] == ids and len(found) in (50, 100)


def test_a_folder_that_is_changed_at_run_time_does_not_split_the_file(
    start: Start, data: Path, tmp_path: Path
) -> None:
    server = start(*ALWAYS, "--enable-protected-configs", "yes")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with Link(server.port) as link:
        ids = add(link, 50)
        assert link.ask("CONFIG", "SET", "dir", str(elsewhere)) == b"OK"
        ids += add(link, 50)
        link.ask("BGREWRITEAOF")
        until(lambda: is_quiet(link))
        ids += add(link, 50)
    server.kill()
    here, there = list(data.rglob("*.manifest")), list(elsewhere.rglob("*.manifest"))
    assert len(here) + len(there) == 1
    # Wherever the file is: it is whole.
    assert ids_in(start(*ALWAYS, *(("--dir", str(elsewhere)) if there else ()))) == ids


def test_two_servers_on_one_folder_do_not_destroy_it(start: Start) -> None:
    first = start(*ALWAYS)
    with Link(first.port) as link:
        ids = add(link, 50)
        with suppress(DidNotStart):
            start(*ALWAYS).kill()
        ids += add(link, 50)
    first.kill()
    assert ids_in(start(*ALWAYS)) == ids


def test_a_terminated_server_brings_all_to_disk_even_without_a_file(start: Start) -> None:
    server = start("--save", "3600 1")
    with Link(server.port) as link:
        ids = add(link, 500)
    assert server.stop() == 0
    assert ids_in(start("--save", "3600 1")) == ids


def test_no_child_outlives_a_killed_server_for_long(start: Start) -> None:
    server = start(*EVERYSEC)
    with Link(server.port) as link:
        add(link, 500)
        link.ask("BGREWRITEAOF")
    children = children_of(server.process.pid)
    server.kill()
    for pid in children:
        assert processes.wait_until_gone(pid, deadline_seconds=WAIT_SECONDS)


def children_of(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_kill_at_any_moment_and_a_power_failure_later_lose_nothing() -> None:
    """What a killed server had written but not synced is relied upon, so it must be synced."""

    def on(files: MemoryFiles, now_ms: int = NEXT_DAY_MS) -> InProcessServer:
        return InProcessServer.on_files(files, now_ms, appendonly="yes", appendfsync="always")

    reached = 0
    for moment in range(200):
        files = FailingFiles()
        ids = []
        try:
            files.operations_left = moment
            server = on(files, DAY_MS)
            client = server.connect()
            for _ in range(2):
                ids.append(decode(client.execute("XADD", "s", "*", "f", "v")))
                client.execute("BGREWRITEAOF")
                server.advance(100)
                server.advance(100)
        except PowerFails:
            reached += 1
        disk = files.kill()
        again = on(disk).connect()
        ids.append(decode(again.execute("XADD", "s", "*", "f", "v")))
        left = on(disk.crash()).connect()
        found = [entry[0] for entry in decode(left.execute("XRANGE", "s", "-", "+"))]
        # The one that was not answered may be there, too.
        assert [entry_id for entry_id in found if entry_id in ids] == ids, f"moment {moment}"
    assert 50 < reached < 200


def test_a_clock_that_is_set_back_does_not_stop_the_syncs() -> None:
    server = InProcessServer(appendonly="yes", appendfsync="everysec")
    client = server.connect()
    client.execute("SET", "before", 1)
    server.advance(2000)
    server.now_ms -= 3_600_000
    client.execute("SET", "after", 1)
    for _ in range(30):
        server.advance(100)
    left = server.restart(server.files.crash()).connect()
    assert decode(left.execute("GET", "after")) == b"1"
