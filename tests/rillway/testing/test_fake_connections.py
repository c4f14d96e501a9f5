"""redis-py's connections to a FakeServer."""

from __future__ import annotations

from rillway.testing import FakeServer
from rillway.testing.fake_connections import FakeConnection, async_client, client, pool


def test_a_pool_has_connections_to_the_server_and_not_to_an_address() -> None:
    with FakeServer() as server:
        made = pool(server, {"host": "nowhere", "port": 1, "db": 2, "socket_timeout": 3})
        connection = made.make_connection()
        assert isinstance(connection, FakeConnection)
        assert connection.db == 2 and connection.socket_timeout == 3
        connection.connect()  # type: ignore[no-untyped-call]
        connection.disconnect()  # type: ignore[no-untyped-call]


def test_a_client_closes_its_pool() -> None:
    with FakeServer() as server, client(server) as other:
        with client(server) as closed:
            assert closed.ping()
        assert len(other.client_list()) == 1


async def test_so_does_the_asynchronous_one() -> None:
    with FakeServer() as server:
        async with async_client(server, single_connection_client=True) as closed:
            assert await closed.ping()
