"""What streams remember of their producers: XIDMPRECORD, expiry and defaults."""

from __future__ import annotations

import pytest

from commands.streams.idempotence import IdempotenceWatch
from server.inprocess.server import InProcessServer
from storage.entries.entry_id import make_id
from storage.idempotence import Idempotence
from tests.commands.streams.talk import Talk, carrier


@pytest.fixture
def client(server: InProcessServer) -> Talk:
    """A stream with one entry of a producer, and one without."""
    client = Talk(server)
    client.all("XADD s IDMP p 1 * f v", "XADD s * f v")
    return client


def remembered(client: Talk, key: str = "s") -> tuple[int, ...]:
    """Duration, maximal size; producers, IDs, IDs ever added, duplicates."""
    info = client.fields(f"XINFO STREAM {key}")
    assert client.fields(f"XINFO STREAM {key} FULL")["iids-tracked"] == info["iids-tracked"]
    names = ("idmp-duration", "idmp-maxsize", "pids-tracked", "iids-tracked", "iids-added")
    return tuple(info[name] for name in (*names, "iids-duplicates"))


# -- XIDMPRECORD -------------------------------------------------------------------------------


def test_the_entry_of_an_id_can_be_noted_afterwards(client: Talk, propagated: list[str]) -> None:
    first, second = client.ids("s")
    assert client.raw(f"XIDMPRECORD s q 7 {second}") == b"+OK\r\n"
    assert client.raw(f"XIDMPRECORD s q 7 {second}") == b"+OK\r\n"
    assert client.raw(f"XIDMPRECORD s p 1 {first}") == b"+OK\r\n"
    assert propagated == [carrier(f"XIDMPRECORD s q 7 {second}")]
    assert client.do("XADD s IDMP q 7 * f v") == second.encode()
    assert remembered(client)[2:] == (2, 2, 2, 1)


def test_a_note_that_cannot_be_true_is_refused(client: Talk) -> None:
    _, second = client.ids("s")
    execute = client.client.execute
    assert execute("XIDMPRECORD", "s", "", "1", "bad") == b"-ERR producer ID must be non-empty\r\n"
    no_iid = execute("XIDMPRECORD", "s", "p", "", "bad")
    assert no_iid == b"-ERR idempotent ID must be non-empty\r\n"
    assert client.error("XIDMPRECORD s p 1 bad").startswith("ERR Invalid stream ID ")
    assert client.error("XIDMPRECORD missing p 1 1-1") == "ERR no such key"
    assert client.error("XIDMPRECORD s p 1 1-1") == "ERR No such message in stream"
    assert client.error(f"XIDMPRECORD s p 1 {second}") == (
        "ERR IID already exists for this producer with a different stream ID"
    )
    client.do("SET string v")
    assert client.error("XIDMPRECORD string p 1 1-1").startswith("WRONGTYPE ")


# -- forgetting --------------------------------------------------------------------------------


def test_the_oldest_id_goes_when_there_are_too_many_of_a_producer(client: Talk) -> None:
    client.do("XCFGSET s IDMP-MAXSIZE 2")
    client.all(*(f"XADD s IDMP p {i} * f v" for i in (1, 2, 3)), "XADD s IDMP q 1 * f v")
    assert remembered(client)[2:5] == (2, 3, 5)
    length = client.do("XLEN s")
    client.all("XADD s IDMP p 2 * f v", "XADD s IDMP p 3 * f v", "XADD s IDMP p 1 * f v")
    assert client.do("XLEN s") == length + 1


def test_what_is_too_old_is_forgotten_in_the_background(
    client: Talk, server: InProcessServer
) -> None:
    server.advance(50_000)
    client.do("XADD s IDMP q 1 * f v")
    server.advance(50_000)
    assert remembered(client)[2:4] == (2, 2)
    server.advance(1)
    assert remembered(client)[2:4] == (1, 1)
    client.do("RENAME s t")
    server.advance(50_000)
    assert remembered(client, "t")[2:4] == (0, 0)
    assert len(server.instance.feature(IdempotenceWatch)) == 0


def test_a_copy_remembers_and_forgets_on_its_own(client: Talk, server: InProcessServer) -> None:
    client.all("COPY s t", "DEL s")
    assert client.do("XADD t IDMP p 1 * f v").decode() == client.ids("t")[0]
    assert remembered(client, "t") == (100, 100, 1, 1, 1, 1)
    server.advance(100_001)
    assert remembered(client, "t")[2:4] == (0, 0)


@pytest.mark.parametrize(
    ("way", "key"),
    [
        ("SWAPDB 0 1 ; SWAPDB 1 0", "s"),
        ("MOVE s 1 ; SELECT 1", "s"),
        ("RENAME s t", "t"),
        ("COPY s t ; DEL s", "t"),
        ("COPY s t ; FLUSHDB ASYNC ; XADD t IDMP p 1 * f v", "t"),
        ("DEBUG RELOAD", "s"),
    ],
)
def test_a_stream_forgets_wherever_it_was_brought(way: str, key: str) -> None:
    server = InProcessServer(enable_debug_command="yes")
    client = Talk(server)
    client.all("XADD s IDMP p 1 * f v", *way.split(" ; "))
    assert remembered(client, key)[2:4] == (1, 1)
    server.advance(100_001)
    assert remembered(client, key)[2:4] == (0, 0)
    assert len(server.instance.feature(IdempotenceWatch)) == 0


def test_a_duplicate_is_a_change_that_is_saved(client: Talk) -> None:
    before = client.server.instance.dirty
    client.do("XADD s IDMP p 1 * f v")
    assert remembered(client)[5] == 1
    assert client.server.instance.dirty == before + 1


def test_a_stream_takes_the_defaults_of_the_time_when_it_was_created(client: Talk) -> None:
    client.do("CONFIG SET stream-idmp-duration 7 stream-idmp-maxsize 8")
    client.all("XADD t * f v", "XGROUP CREATE u g 0 MKSTREAM")
    client.do("CONFIG SET stream-idmp-duration 9 stream-idmp-maxsize 9")
    assert remembered(client)[:2] == (100, 100)
    assert remembered(client, "t")[:2] == remembered(client, "u")[:2] == (7, 8)


@pytest.mark.parametrize("value", ["0", "86401"])
def test_a_default_out_of_bounds_is_refused(client: Talk, value: str) -> None:
    assert "between 1 and 86400" in client.error(f"CONFIG SET stream-idmp-duration {value}")


def memory(*pids: bytes) -> Idempotence:
    """One ID of each producer, of the time 0."""
    idempotence = Idempotence(duration_s=1)
    for number, pid in enumerate(pids):
        idempotence.record(pid, b"1", make_id(0, number))
    return idempotence


def test_a_memory_is_watched_once_until_it_is_empty() -> None:
    watch, one = IdempotenceWatch(InProcessServer().instance), memory(b"p")
    watch.watch(one)
    watch.watch(one)
    watch.expire(1000, limit=10)
    assert (len(watch), one.iids_tracked) == (1, 1)
    watch.expire(1001, limit=10)
    assert (len(watch), one.iids_tracked) == (0, 0)


def test_a_round_checks_a_limited_number_of_producers_and_the_next_one_continues() -> None:
    watch = IdempotenceWatch(InProcessServer().instance)
    memories = [memory(b"p", b"q") for _ in range(4)]
    for one in memories:
        watch.watch(one)
    watch.expire(5000, limit=4)
    assert [one.iids_tracked for one in memories] == [0, 0, 2, 2]
    watch.expire(5000, limit=4)
    assert [one.iids_tracked for one in memories] == [0, 0, 0, 0]


def test_one_memory_with_many_producers_takes_several_rounds() -> None:
    watch = IdempotenceWatch(InProcessServer().instance)
    one = memory(*(b"%d" % number for number in range(10)))
    watch.watch(one)
    watch.expire(5000, limit=4)
    assert one.iids_tracked == 6
    watch.expire(5000, limit=100)
    assert one.iids_tracked == 0


def test_a_deleted_stream_is_not_kept() -> None:
    watch = IdempotenceWatch(InProcessServer().instance)
    watch.watch(memory(b"p"))
    watch.expire(0, limit=10)
    assert len(watch) == 0
