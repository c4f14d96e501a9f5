"""MIGRATE between Rillway and redis-server, in both directions."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.compat.conftest import compared_redis_or_skip
from tests.support.programs.servers import (
    COMPARED_REDIS,
    RunningServer,
    start_redis,
    start_rillway,
)
from tests.support.waiting import until

pytestmark = pytest.mark.compat

DEBUG = ("--enable-debug-command", "yes")


def client_of(server: RunningServer) -> Any:
    return redis.Redis(port=server.port, decode_responses=True)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, RunningServer]]:
    """By name; `other` is a second Rillway."""
    folders = [tmp_path_factory.mktemp(name) for name in ("a", "b", "c", "d")]
    started = {
        "rillway": start_rillway(folders[0], "--appendonly", "yes", *DEBUG),
        "other": start_rillway(folders[1]),
        "redis 7.0": start_redis(folders[2]),
        "redis 8.2": start_redis(folders[3], program=compared_redis_or_skip(), line=COMPARED_REDIS),
    }
    yield started
    for server in started.values():
        server.stop()


@pytest.fixture(autouse=True)
def empty(servers: dict[str, RunningServer]) -> None:
    for server in servers.values():
        client_of(server).flushall()


def fill(client: Any) -> list[str]:
    """A key of each type; the names."""
    client.set("string", "v", px=60_000)
    client.hset("hash", mapping={"f": "1"})
    client.rpush("list", *range(300))
    client.sadd("set", "a", "b")
    client.zadd("zset", {"a": 1.5})
    for number in range(1, 201):
        client.xadd("stream", {"n": number}, id=f"{number}-1")
    client.xgroup_create("stream", "billing", id="0")
    client.xreadgroup("billing", "anna", {"stream": ">"}, count=50)
    client.xack("stream", "billing", "3-1")
    return ["string", "hash", "list", "set", "zset", "stream"]


def content(client: Any) -> list[Any]:
    return [
        client.get("string"),
        client.hgetall("hash"),
        client.lrange("list", 0, -1),
        sorted(client.smembers("set")),
        client.zrange("zset", 0, -1, withscores=True),
        client.xrange("stream"),
        client.xpending("stream", "billing"),
        client.xinfo_groups("stream"),
    ]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("rillway", "other"),
        ("rillway", "redis 7.0"),
        ("rillway", "redis 8.2"),
        ("redis 7.0", "rillway"),
        ("redis 8.2", "rillway"),
    ],
)
def test_keys_of_all_types_move(
    servers: dict[str, RunningServer], source: str, target: str
) -> None:
    here, there = client_of(servers[source]), client_of(servers[target])
    keys = fill(here)
    before = content(here)
    port = servers[target].port
    assert here.execute_command("MIGRATE", "127.0.0.1", port, "", 0, 5000, "KEYS", *keys) == "OK"
    assert here.dbsize() == 0
    assert content(there) == before
    assert 50_000 < there.pttl("string") <= 60_000


def policies(client: Any) -> None:
    """A stream with a retention, a group with a policy, and another with a scheduled entry."""
    client.xadd("kept", {"f": "v"})
    client.execute_command("XCFGSET", "kept", "RETAIN-LEN", 5)
    client.xgroup_create("kept", "workers", id="0")
    client.execute_command("XGROUP", "CONFIG", "kept", "workers", "ACK-WAIT", 60_000)
    client.execute_command("XADD", "later", "DELAY", 3_600_000, "*", "f", "v")


def move(client: Any, server: RunningServer, *words: str) -> Any:
    return client.execute_command("MIGRATE", "127.0.0.1", server.port, "", 0, 5000, *words)


def test_policies_and_scheduled_entries_move(servers: dict[str, RunningServer]) -> None:
    here, there = client_of(servers["rillway"]), client_of(servers["other"])
    policies(here)
    keys = ("kept", "later")
    asked = [("POLICY", "kept"), ("POLICY", "kept", "workers"), ("POLICY", "later")]
    before = [here.execute_command("XINFO", *words) for words in asked]
    waiting = here.execute_command("XSCHEDULED", "later")
    assert move(here, servers["other"], "COPY", "KEYS", *keys) == "OK"
    assert there.execute_command("XSCHEDULED", "later") == []  # it would appear twice
    assert move(here, servers["other"], "REPLACE", "KEYS", *keys) == "OK"
    assert [there.execute_command("XINFO", *words) for words in asked] == before
    assert there.execute_command("XSCHEDULED", "later") == waiting
    assert here.dbsize() == 0
    # What takes the keys has them in its file.
    assert move(there, servers["rillway"], "KEYS", *keys) == "OK"
    here.execute_command("DEBUG", "LOADAOF")
    assert [here.execute_command("XINFO", *words) for words in asked] == before
    assert here.execute_command("XSCHEDULED", "later") == waiting


def test_what_is_reserved_by_key_moves(servers: dict[str, RunningServer]) -> None:
    here, there = client_of(servers["rillway"]), client_of(servers["other"])
    for number in (1, 2, 3):
        here.xadd("jobs", {"customer": "anna", "n": number}, id=f"{number}-1")
    here.xgroup_create("jobs", "g", "0")
    here.execute_command(
        "XGROUP", "CONFIG", "jobs", "g", "ACK-WAIT", 60_000, "KEY-FIELD", "customer"
    )

    def read(client: Any, consumer: str) -> list[str]:
        found = client.xreadgroup("g", consumer, {"jobs": ">"}, count=1)
        return [entry for _, entries in found for entry, _ in entries]

    assert read(here, "a") == ["1-1"] and read(here, "b") == []
    asked = ("XINFO", "POLICY", "jobs", "g")
    before = here.execute_command(*asked)
    assert before["reserved"] == 2
    assert move(here, servers["other"], "KEYS", "jobs") == "OK"
    assert there.execute_command(*asked) == before
    assert read(there, "b") == []
    there.xack("jobs", "g", "1-1")
    assert read(there, "b") == ["2-1"] and read(there, "a") == []


@pytest.mark.parametrize("target", ["redis 7.0", "redis 8.2"])
def test_scheduled_entries_do_not_go_where_they_would_be_lost(
    servers: dict[str, RunningServer], target: str
) -> None:
    here, there = client_of(servers["rillway"]), client_of(servers[target])
    policies(here)
    with pytest.raises(redis.ResponseError) as refused:
        move(here, servers[target], "KEYS", "kept", "later")
    assert str(refused.value) == "Target can't hold the key's scheduled entries"
    assert here.keys() == ["later"]
    assert len(here.execute_command("XSCHEDULED", "later")) == 1
    assert there.keys() == ["kept"]
    assert there.xlen("kept") == 1


def test_copy_and_replace(servers: dict[str, RunningServer]) -> None:
    here, there = client_of(servers["rillway"]), client_of(servers["redis 8.2"])
    port = servers["redis 8.2"].port
    here.set("a", "1")
    assert here.execute_command("MIGRATE", "127.0.0.1", port, "a", 0, 1000, "COPY") == "OK"
    assert (here.get("a"), there.get("a")) == ("1", "1")
    here.set("a", "2")
    with pytest.raises(redis.ResponseError, match="replied with error: BUSYKEY Target key name"):
        here.execute_command("MIGRATE", "127.0.0.1", port, "a", 0, 1000)
    assert (here.get("a"), there.get("a")) == ("2", "1")
    assert here.execute_command("MIGRATE", "127.0.0.1", port, "a", 0, 1000, "REPLACE") == "OK"
    assert (here.get("a"), there.get("a")) == (None, "2")


def test_keys_that_were_refused_stay(servers: dict[str, RunningServer]) -> None:
    here, there = client_of(servers["rillway"]), client_of(servers["redis 8.2"])
    here.mset({"a": "1", "b": "2", "c": "3"})
    there.set("b", "busy")
    words = ("MIGRATE", "127.0.0.1", servers["redis 8.2"].port, "", 0, 1000, "KEYS", "a", "b", "c")
    with pytest.raises(redis.ResponseError, match="BUSYKEY"):
        here.execute_command(*words)
    assert here.keys() == ["b"]
    assert there.mget("a", "b", "c") == ["1", "busy", "3"]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("a", 99, 1000), "ERR Target instance replied with error: ERR DB index is out of range"),
        (("a", 0, 1000, "AUTH2", "u", "p"), "ERR Target instance replied with error: WRONGPASS"),
    ],
)
def test_an_error_before_the_keys_moves_none(
    servers: dict[str, RunningServer], words: tuple[Any, ...], error: str
) -> None:
    here, there = client_of(servers["rillway"]), client_of(servers["redis 8.2"])
    here.set("a", "1")
    with pytest.raises(redis.ResponseError) as refused:
        here.execute_command("MIGRATE", "127.0.0.1", servers["redis 8.2"].port, *words)
    assert f"ERR {refused.value}".startswith(error) or str(refused.value).startswith(error[4:])
    assert here.get("a") == "1"
    assert there.dbsize() == 0


def test_only_writes_to_its_keys_wait_for_a_target_that_does_not_answer(
    servers: dict[str, RunningServer],
) -> None:
    here = client_of(servers["rillway"])
    here.set("a", "1")
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        errors: list[str] = []

        def migrate() -> None:
            with pytest.raises(redis.ResponseError) as failed:
                client_of(servers["rillway"]).execute_command(
                    "MIGRATE", "127.0.0.1", deaf.getsockname()[1], "a", 0, 700
                )
            errors.append(str(failed.value))

        thread = threading.Thread(target=migrate)
        thread.start()
        while not int(here.info("clients")["blocked_clients"]):
            time.sleep(0.01)
        assert here.get("a") == "1"
        assert here.set("b", "1")
        assert here.pipeline().incr("b").get("a").execute() == [2, "1"]
        assert int(here.info("clients")["blocked_clients"]) == 1  # none of these has waited
        assert here.set("a", "2")  # it waits until the other side was given up
        thread.join()
    assert errors == ["IOERR error or timeout reading from target instance"]
    assert here.get("a") == "2"


def test_a_value_that_is_too_large_for_a_request_is_refused(
    servers: dict[str, RunningServer],
) -> None:
    here = client_of(servers["rillway"])
    here.rpush("a", *(f"{number}" * 100 for number in range(100_000, 120_000)))
    here.config_set("proto-max-bulk-len", 1_048_576)
    here.config_set("rdbcompression", "no")
    try:
        with pytest.raises(redis.ResponseError, match="takes more than 1048576 bytes"):
            here.execute_command("MIGRATE", "127.0.0.1", servers["other"].port, "a", 0, 5000)
    finally:
        here.config_set("proto-max-bulk-len", 536_870_912)
        here.config_set("rdbcompression", "yes")
    assert here.llen("a") == 20_000
    assert here.rpush("a", "x")


def test_a_target_that_is_not_there_is_an_error(servers: dict[str, RunningServer]) -> None:
    here = client_of(servers["rillway"])
    here.set("a", "1")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(redis.ResponseError, match="error or timeout writing to target instance"):
        here.execute_command("MIGRATE", "127.0.0.1", port, "a", 0, 700)
    assert here.get("a") == "1"


@pytest.mark.parametrize("host", ["", "nowhere.invalid", "a\0b", "x" * 300, "..", "\xff"])
def test_a_host_that_is_none_is_an_error(servers: dict[str, RunningServer], host: str) -> None:
    here = client_of(servers["rillway"])
    here.set("a", "1")
    with pytest.raises(redis.ResponseError, match="IOERR error or timeout"):
        here.execute_command("MIGRATE", host, 7000, "a", 0, 700)
    assert here.set("a", "2")


@pytest.mark.parametrize("reply", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"-\xff\xfe\r\n" * 3])
def test_what_is_no_redis_is_an_error(servers: dict[str, RunningServer], reply: bytes) -> None:
    here = client_of(servers["rillway"])
    here.set("a", "1")
    with socket.create_server(("127.0.0.1", 0)) as other:

        def answer() -> None:
            connection, _ = other.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(reply)

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(redis.ResponseError):
            here.execute_command("MIGRATE", "127.0.0.1", other.getsockname()[1], "a", 0, 700)
        thread.join()
    assert here.get("a") == "1"
    assert here.set("a", "2")


def test_what_has_left_is_deleted_from_the_file_too(
    servers: dict[str, RunningServer], tmp_path: Path
) -> None:
    server = start_rillway(tmp_path, "--appendonly", "yes")
    here = client_of(server)
    here.mset({"a": "1", "b": "2"})
    port = servers["other"].port
    assert here.execute_command("MIGRATE", "127.0.0.1", port, "a", 0, 1000) == "OK"
    here.close()
    server.kill()
    (tmp_path / "rillway.log").unlink()
    again = start_rillway(tmp_path, "--appendonly", "yes")
    assert client_of(again).keys() == ["b"]
    again.stop()


def test_a_shutdown_gives_up_what_is_under_way(tmp_path: Path) -> None:
    server = start_rillway(tmp_path, "--appendonly", "yes")
    here = client_of(server)
    here.set("a", "1")
    with socket.create_server(("127.0.0.1", 0)) as other, server.connect() as caller:
        caller.write("MIGRATE", "127.0.0.1", str(other.getsockname()[1]), "a", "0", "60000")
        connection, _ = other.accept()
        with connection:
            connection.recv(1000)
            server.process.terminate()
            connection.sendall(b"+OK\r\n" * 2)
            server.process.wait()
    assert "bye bye" in server.output()
    assert "Traceback" not in server.output()
    (tmp_path / "rillway.log").unlink()
    again = start_rillway(tmp_path, "--appendonly", "yes")
    assert client_of(again).get("a") in ("1", None)  # the answer came before the end, or after
    again.stop()


def test_a_target_that_goes_while_a_key_is_serialized_is_an_error(
    servers: dict[str, RunningServer],
) -> None:
    here = client_of(servers["rillway"])
    with here.pipeline(transaction=False) as pipeline:
        for number in range(50_000):  # takes several turns
            pipeline.xadd("a", {"n": number, "text": "x" * 50})
        pipeline.execute()
    with socket.create_server(("127.0.0.1", 0)) as other:

        def reset() -> None:
            connection, _ = other.accept()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.recv(1)  # what is not read makes the end a reset
            connection.sendall(b"+OK\r\n")
            connection.close()

        thread = threading.Thread(target=reset)
        thread.start()
        port = other.getsockname()[1]
        with pytest.raises(redis.ResponseError, match="IOERR error or timeout"):
            here.execute_command("MIGRATE", "127.0.0.1", port, "a", 0, 700)
        thread.join()
    assert here.xadd("a", {"n": "1"})
    assert "Traceback" not in servers["rillway"].output()


@pytest.fixture
def held_target() -> Iterator[tuple[int, threading.Event]]:
    """The port of a server that takes a key, but says so only after the event."""
    may_answer, is_over = threading.Event(), threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as other:

        def take() -> None:
            connection, _ = other.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"+OK\r\n")
                connection.recv(1000)
                may_answer.wait()
                connection.sendall(b"+OK\r\n")
                # Who closes with bytes of the request unread takes its answer back.
                is_over.wait()

        thread = threading.Thread(target=take)
        thread.start()
        yield other.getsockname()[1], may_answer
        may_answer.set()
        is_over.set()
        thread.join()


def test_a_server_that_has_become_a_replica_deletes_nothing(
    servers: dict[str, RunningServer], held_target: tuple[int, threading.Event]
) -> None:
    port, may_answer = held_target
    here, primary = client_of(servers["rillway"]), client_of(servers["other"])
    here.set("a", "own")
    primary.set("a", "the primary's")
    with servers["rillway"].connect() as caller:
        caller.write("MIGRATE", "127.0.0.1", str(port), "a", "0", "20000")
        until(lambda: here.info("clients")["blocked_clients"])
        here.replicaof("127.0.0.1", servers["other"].port)
        try:
            until(lambda: here.get("a") == "the primary's")
            may_answer.set()
            primary.set("b", "1")
            until(lambda: here.get("b") == "1")  # the stream goes on once the move has ended
            assert here.get("a") == "the primary's"
        finally:
            here.replicaof("NO", "ONE")


def test_the_deletion_waits_while_writes_are_paused(
    servers: dict[str, RunningServer], held_target: tuple[int, threading.Event]
) -> None:
    port, may_answer = held_target
    here = client_of(servers["rillway"])
    here.set("a", "1")
    with servers["rillway"].connect() as caller:
        caller.write("MIGRATE", "127.0.0.1", str(port), "a", "0", "20000")
        until(lambda: here.info("clients")["blocked_clients"])
        here.client_pause(20_000, all=False)
        may_answer.set()
        assert all(here.get("a") == "1" for _ in range(100))
        here.client_unpause()
        assert caller.read_reply() == b"+OK\r\n"
    assert here.get("a") is None


def test_a_blocked_client_that_would_write_a_key_that_moves_is_served_later(
    servers: dict[str, RunningServer], held_target: tuple[int, threading.Event]
) -> None:
    port, may_answer = held_target
    here = client_of(servers["rillway"])
    here.rpush("moving", "1")
    rillway = servers["rillway"]
    with rillway.connect() as caller, rillway.connect() as mover, rillway.connect() as taker:
        mover.write("BLMOVE", "source", "moving", "LEFT", "RIGHT", "0")
        taker.write("BLPOP", "another", "0")
        until(lambda: here.info("clients")["blocked_clients"] == 2)
        caller.write("MIGRATE", "127.0.0.1", str(port), "moving", "0", "20000")
        until(lambda: here.info("clients")["blocked_clients"] == 3)
        here.rpush("source", "2")
        here.rpush("another", "3")
        assert taker.read_reply() == b"*2\r\n$7\r\nanother\r\n$1\r\n3\r\n"
        assert here.lrange("moving", 0, -1) == ["1"]
        may_answer.set()
        assert caller.read_reply() == b"+OK\r\n"
        assert mover.read_reply() == b"$1\r\n2\r\n"
    assert here.lrange("moving", 0, -1) == ["2"]  # the target has the other
