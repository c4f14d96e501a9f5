"""FakeRedis and FakeAsyncRedis, in the place of fakeredis's classes."""

from __future__ import annotations

import subprocess
import sys

import pytest
import redis
import redis.asyncio

from rillway.testing import FakeAsyncRedis, FakeRedis, FakeServer


def test_they_are_clients_of_redis_py() -> None:
    assert issubclass(FakeRedis, redis.Redis) and issubclass(FakeAsyncRedis, redis.asyncio.Redis)


def test_each_has_a_server_of_its_own_unless_it_is_given_one() -> None:
    with FakeServer() as server, FakeRedis(server=server) as one, FakeRedis(server=server) as two:
        one.set("key", "value")
        assert two.get("key") == b"value"
        with FakeRedis() as other:
            assert other.get("key") is None


def test_options_are_those_of_redis_py_and_places_have_no_effect() -> None:
    with FakeRedis(host="nowhere", port=1, db=3, decode_responses=True) as client:
        client.client_setname("me")
        assert client.client_info()["db"] == 3
        assert client.client_getname() == "me"


def test_an_url_gives_the_database() -> None:
    with FakeServer() as server:
        client = FakeRedis.from_url("redis://nowhere:1/5", server=server)
        assert client.client_info()["db"] == 5


@pytest.mark.parametrize("protocol", [2, 3])
def test_one_connection_for_all_requests(protocol: int) -> None:
    with FakeRedis(single_connection_client=True, protocol=protocol) as client:
        assert client.ping() and len(client.client_list()) == 1
        with client.client() as single:
            assert single.ping()


async def test_the_asynchronous_one() -> None:
    async with FakeServer() as server:
        client = FakeAsyncRedis.from_url("redis://nowhere/2", server=server, decode_responses=True)
        async with client:
            async with client.pipeline() as pipeline:
                pipeline.set("key", "value")
                pipeline.get("key")
                assert await pipeline.execute() == [True, "value"]
            assert (await client.client_info())["db"] == 2
        async with FakeAsyncRedis() as other:
            assert await other.dbsize() == 0


def test_importing_the_package_does_not_load_redis_py() -> None:
    program = (
        "import sys, rillway.testing\n"
        "assert not {'redis', 'asyncio', 'rillway.app'} & sys.modules.keys()\n"
        "rillway.testing.FakeRedis\n"
        "assert 'redis' in sys.modules\n"
        "try: rillway.testing.Nothing\n"
        "except AttributeError: pass"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
