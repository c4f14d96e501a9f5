"""The testcontainers shape."""

from __future__ import annotations

import pytest
import redis

from rillway.testing import RillwayContainer

pytestmark = pytest.mark.integration


def test_a_suite_written_for_a_redis_container_runs_on_it() -> None:
    with RillwayContainer("redis:7.2", port=6380, password="sec ret") as container:
        with container.get_client(decode_responses=True) as client:
            assert client.ping()
            client.set("k", "v")
        host, port = container.get_container_host_ip(), container.get_exposed_port(6380)
        with redis.Redis(host=host, port=port, password="sec ret") as client:
            assert client.get("k") == b"v"
        with redis.Redis.from_url(container.get_connection_url()) as client:
            assert client.get("k") == b"v"
        stdout, stderr = container.get_logs()
        assert b"Ready to accept connections" in stdout
        assert stderr == b""


async def test_it_hands_out_asynchronous_clients_too() -> None:
    with RillwayContainer(maxclients=5) as container:
        async with await container.get_async_client(decode_responses=True) as client:
            assert await client.config_get("maxclients") == {"maxclients": "5"}


def test_started_and_stopped_by_hand_it_begins_empty_each_time() -> None:
    container = RillwayContainer()
    for _ in range(2):
        assert container.start() is container
        with container.get_client() as client:
            assert client.incr("runs") == 1
        url = container.get_connection_url()
        container.stop()
        with pytest.raises(redis.ConnectionError):
            redis.Redis.from_url(url).ping()
    container.stop()


def test_before_it_is_started_there_is_nothing_to_ask_for() -> None:
    with pytest.raises(RuntimeError, match="not started"):
        RillwayContainer().get_connection_url()


def test_only_the_servers_own_port_is_exposed() -> None:
    with (
        RillwayContainer() as container,
        pytest.raises(ValueError, match="port 6380 is not exposed"),
    ):
        container.get_exposed_port(6380)
