"""FakeServer: a server in the test's process, with redis-py's clients."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from rillway.testing import FakeServer
from tests.support.programs.own_modules import run_beside_own_modules

ROOT = Path(__file__).parents[3]

# Errors are expected here: redis-py would try again for seconds.
NO_RETRY = Retry(NoBackoff(), 0)


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer() as running:
        yield running


@pytest.fixture(params=[2, 3], ids=["RESP2", "RESP3"])
def client(server: FakeServer, request: pytest.FixtureRequest) -> Iterator[redis.Redis]:
    with server.client(decode_responses=True, protocol=request.param, retry=NO_RETRY) as connected:
        yield connected


def test_clients_of_a_server_share_its_data(server: FakeServer, client: redis.Redis) -> None:
    client.xadd("orders", {"item": "lamp"}, id="1-1")
    with server.client() as other:
        assert other.xrange("orders") == [(b"1-1", {b"item": b"lamp"})]


def test_servers_share_nothing(client: redis.Redis) -> None:
    client.set("key", "value")
    with FakeServer() as other, other.client() as stranger:
        assert stranger.dbsize() == 0


def test_a_reader_in_another_thread_is_woken(server: FakeServer, client: redis.Redis) -> None:
    client.xgroup_create("orders", "billing", mkstream=True)
    delivered: list[object] = []

    def read() -> None:
        with server.client() as reader:
            delivered.append(reader.blpop("go", timeout=10))
            delivered.append(reader.xreadgroup("billing", "alice", {"orders": ">"}, block=10_000))

    thread = threading.Thread(target=read)
    thread.start()
    client.rpush("go", "now")
    client.xadd("orders", {"item": "lamp"}, id="1-1")
    thread.join()
    assert delivered[0] == (b"go", b"now") or delivered[0] == [b"go", b"now"]
    assert b"1-1" in repr(delivered[1]).encode()


async def test_coroutines_wait_for_each_other(server: FakeServer) -> None:
    async with server.async_client() as reader, server.async_client() as writer:
        waiting = asyncio.gather(reader.xread({"orders": "0"}, block=10_000))
        await writer.xadd("orders", {"item": "lamp"}, id="1-1")
        assert "1-1" in repr(await waiting)


def test_a_read_that_waits_ends_in_time(server: FakeServer, client: redis.Redis) -> None:
    assert not client.xread({"orders": "$"}, block=10)
    with (
        server.client(socket_timeout=0.01, retry=NO_RETRY) as hasty,
        pytest.raises(redis.TimeoutError),
    ):
        hasty.blpop("list")


def test_transactions_scripts_and_messages(client: redis.Redis) -> None:
    with client.pipeline() as transaction:
        transaction.watch("stock")  # type: ignore[no-untyped-call]
        transaction.multi()
        transaction.incr("stock")
        transaction.incr("stock")
        assert transaction.execute() == [1, 2]
    with client.pipeline() as transaction, pytest.raises(redis.WatchError):
        transaction.watch("stock")  # type: ignore[no-untyped-call]
        client.incr("stock")
        transaction.multi()
        transaction.incr("stock")
        transaction.execute()
    assert client.eval("return redis.call('get', KEYS[1])", 1, "stock") == "3"
    with client.pubsub() as channel:  # type: ignore[no-untyped-call]
        channel.subscribe("news")
        assert channel.get_message(timeout=10)
        client.publish("news", "hello")
        message = channel.get_message(timeout=10)
        assert message is not None and message["data"] == "hello"


def test_a_fork_is_served_by_the_process_that_started_the_server(
    server: FakeServer, client: redis.Redis
) -> None:
    client.set("key", "parent")
    child = os.fork()
    if not child:
        status = 1
        try:
            with FakeServer() as own, own.client() as alone:
                assert client.get("key") == "parent" and alone.dbsize() == 0
            client.set("key", "child")
            server.close()  # of no effect in a fork
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert client.get("key") == "child" and server.running


def test_directives_are_those_of_the_configuration_file() -> None:
    with FakeServer(maxclients=20, appendonly=True, requirepass="a b") as server:
        with server.client(password="a b", decode_responses=True) as client:
            assert client.config_get("maxclients", "appendonly") == {
                "maxclients": "20",
                "appendonly": "yes",
            }
        with server.client(retry=NO_RETRY) as stranger, pytest.raises(redis.AuthenticationError):
            stranger.ping()


@pytest.mark.parametrize("wrong", [{"port": 7000}, {"dir": "/tmp"}, {"maxclientz": 1}])
def test_a_directive_of_no_use_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        FakeServer(**wrong)


def test_a_closed_server_refuses_clients(server: FakeServer, client: redis.Redis) -> None:
    assert client.ping() and server.running
    server.close()
    server.close()
    with pytest.raises(redis.ConnectionError):
        client.ping()
    with pytest.raises(ConnectionRefusedError):
        server.connect()


def test_flush_empties_all_databases(server: FakeServer, client: redis.Redis) -> None:
    client.set("key", "value")
    server.flush()
    assert client.dbsize() == 0


def test_the_log_can_be_read(server: FakeServer, client: redis.Redis) -> None:
    client.shutdown(nosave=True)
    assert "User requested shutdown" in server.log


async def test_a_server_is_closed_after_a_block_of_asyncio() -> None:
    async with FakeServer() as server, server.async_client() as client:
        assert await client.ping()
    with pytest.raises(ConnectionRefusedError):
        server.connect()


@pytest.mark.parametrize("order", [pytest.param("before", marks=pytest.mark.thorough), "after"])
def test_a_users_modules_of_the_same_names_stay_the_users(tmp_path: Path, order: str) -> None:
    assert run_beside_own_modules(Path(sys.executable), tmp_path, order, [ROOT]) == "done\n"
