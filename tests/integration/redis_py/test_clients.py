"""Connections through redis-py, sync and asyncio: handshake, names, lists, kills, waits, pauses."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest
import redis
import redis.asyncio
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, ConnectionError, ResponseError
from redis.retry import Retry

from tests.conftest import StartRillway
from tests.integration.redis_py.conftest import Client
from tests.support.programs.servers import RunningServer
from tests.support.waiting import until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.parametrize("protocol", [2, 3], ids=["resp2", "resp3"]),
]


DEADLINE_SECONDS = 60.0


@pytest.fixture
def client(server: RunningServer, protocol: int) -> Iterator[Client]:
    with redis.Redis(
        port=server.port, protocol=protocol, decode_responses=True, client_name="the-client"
    ) as client:
        yield client


def test_the_handshake_leaves_name_library_and_protocol(client: Client, protocol: int) -> None:
    assert client.client_getname() == "the-client"
    line = client.client_info()
    assert line["name"] == "the-client"
    assert line["resp"] == str(protocol)
    assert line["lib-name"] == "redis-py"
    assert line["lib-ver"] == redis.__version__
    assert int(line["id"]) == client.client_id()


def test_a_connection_to_another_database(server: RunningServer, protocol: int) -> None:
    with redis.Redis(port=server.port, protocol=protocol, db=3) as other:
        other.set("k", "three")
    with redis.Redis(port=server.port, protocol=protocol) as zero:
        assert zero.get("k") is None
    with (
        redis.Redis(port=server.port, protocol=protocol, db=99) as nowhere,
        pytest.raises(ResponseError, match="DB index is out of range"),
    ):
        nowhere.ping()


def test_clients_with_the_password_are_let_in(run_rillway: StartRillway, protocol: int) -> None:
    port = run_rillway().port
    with redis.Redis(port=port) as administrator:
        administrator.config_set("requirepass", "open sesame")
    with redis.Redis(port=port, protocol=protocol, password="open sesame") as insider:
        assert insider.ping()
    for password in ("wrong", None):
        with (
            redis.Redis(
                port=port, protocol=protocol, password=password, retry=Retry(NoBackoff(), 0)
            ) as outsider,
            pytest.raises(AuthenticationError),
        ):
            outsider.ping()


def test_the_list_shows_every_connection(client: Client, protocol: int) -> None:
    with client.client() as pinned, client.pubsub() as pubsub:
        pubsub.subscribe("ch")
        pinned_id = pinned.client_id()
        until(lambda: client.pubsub_numsub("ch")[0][1] == 1)
        by_id = {int(line["id"]): line for line in client.client_list()}
        assert by_id[pinned_id]["cmd"] == "client|id"
        (subscriber,) = client.client_list(_type="pubsub")
        assert (subscriber["sub"], subscriber["flags"]) == ("1", "P")
        (alone,) = client.client_list(client_id=[str(pinned_id)])
        assert alone["addr"] == by_id[pinned_id]["addr"]


def test_a_killed_connection_is_closed_and_replaced(client: Client) -> None:
    with client.client() as victim:
        victim_id = victim.client_id()
        assert client.client_kill_filter(_id=str(victim_id)) == 1
        until(lambda: not client.client_list(client_id=[str(victim_id)]))
        assert victim.ping()  # redis-py connects again
        assert victim.client_id() != victim_id
    with pytest.raises(ResponseError, match="No such client"):
        client.client_kill("1.2.3.4:5")


@pytest.mark.parametrize("error", [False, True], ids=["timeout", "error"])
def test_a_wait_can_be_ended_by_another_connection(client: Client, error: bool) -> None:
    outcome: list[object] = []
    with client.client() as waiter:
        waiter_id = waiter.client_id()

        def wait() -> None:
            try:
                outcome.append(waiter.xread({"s": "$"}, block=4_000))
            except ResponseError as refusal:
                outcome.append(str(refusal))

        thread = threading.Thread(target=wait)
        thread.start()
        until(lambda: client.client_list(client_id=[str(waiter_id)])[0]["flags"] == "b")
        assert client.client_unblock(waiter_id, error) == 1
        thread.join(DEADLINE_SECONDS)
        assert client.client_unblock(waiter_id) == 0
    if error:
        assert outcome == ["UNBLOCKED client unblocked via CLIENT UNBLOCK"]
    else:
        assert outcome in ([[]], [{}], [None])


def test_a_pause_holds_writers_until_it_is_ended(client: Client) -> None:
    client.client_pause(10_000, all=False)
    written = threading.Event()

    def write() -> None:
        with client.client() as writer:
            writer.set("k", "v")
        written.set()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert client.get("k") is None
        assert not written.wait(0.1)
    finally:
        client.client_unpause()
    thread.join(DEADLINE_SECONDS)
    assert client.get("k") == "v"


async def test_asyncio_clients_come_and_go(server: RunningServer, protocol: int) -> None:
    async with redis.asyncio.Redis(
        port=server.port, protocol=protocol, decode_responses=True
    ) as client:
        names = {f"worker-{number}" for number in range(20)}

        async def work(name: str) -> str:
            async with redis.asyncio.Redis(
                port=server.port, protocol=protocol, client_name=name, decode_responses=True
            ) as worker:
                await worker.xadd("s", {"by": name})
                return str((await worker.client_info())["name"])

        assert set(await asyncio.gather(*(work(name) for name in names))) == names
        assert await client.xlen("s") == 20
        deadline = time.monotonic() + DEADLINE_SECONDS
        while names & {line["name"] for line in await client.client_list()}:
            assert time.monotonic() < deadline, "closed connections stay in the list"
            await asyncio.sleep(0.005)


async def test_asyncio_a_killed_connection_raises_in_its_owner(
    server: RunningServer, protocol: int
) -> None:
    never = redis.asyncio.retry.Retry(NoBackoff(), 0)
    connected: Client = redis.asyncio.Redis(port=server.port, protocol=protocol, retry=never)
    async with connected as client, client.client() as victim:
        victim_id = await victim.client_id()
        waiting = asyncio.create_task(victim.xread({"s": "$"}, block=4_000))
        while (await client.client_list(client_id=[str(victim_id)]))[0]["flags"] != "b":
            await asyncio.sleep(0.005)
        assert await client.client_kill_filter(_id=str(victim_id)) == 1
        with pytest.raises(ConnectionError):
            await waiting
