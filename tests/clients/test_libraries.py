"""walrus, coredis, litestar and python-socketio."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.programs.servers import RunningServer

pytestmark = pytest.mark.integration


def test_walrus(server: RunningServer) -> None:
    from walrus import Database

    db = Database(host="127.0.0.1", port=server.port)
    with db.lock("name", ttl=1000):
        assert not db.lock("name", ttl=1000).acquire(block=False)
    limit = db.rate_limit("limit", limit=2, per=60)
    assert [limit.limit("user") for _ in range(3)] == [False, False, True]
    names = db.autocomplete()
    names.store("redis streams")
    names.store("red letters")
    assert sorted(names.search("red")) == ["red letters", "redis streams"]
    group = db.consumer_group("group", ["stream"])
    group.create()
    group.stream.add({"field": "value"})
    ((_, fields),) = group.stream.read(count=1)
    assert fields == {b"field": b"value"}
    cache = db.cache()
    assert cache.cached()(lambda: 5)() == 5


def test_coredis(server: RunningServer) -> None:
    import coredis

    async def main() -> None:
        async with coredis.Redis(host="127.0.0.1", port=server.port) as client:
            script = client.register_script("return redis.call('incrby', KEYS[1], ARGV[1])")
            assert await script(keys=["k"], args=[5]) == 5
            assert await client.eval("return {1, 'a', {2}}") == [1, b"a", [2]]
            await client.function_load(
                "#!lua name=lib\nredis.register_function('f', function(k, a) return a[1] end)"
            )
            assert await client.fcall("f", [], ["x"]) == b"x"
            async with client.lock("name", timeout=5):
                assert await client.exists(["name"]) == 1
            assert await client.exists(["name"]) == 0

    asyncio.run(main())


def test_litestar(url: str) -> None:
    from litestar.channels.backends.redis import RedisChannelsStreamBackend
    from litestar.stores.redis import RedisStore
    from redis.asyncio import Redis

    async def main() -> None:
        client = Redis.from_url(url)
        backend = RedisChannelsStreamBackend(history=10, redis=client)
        await backend.on_startup()
        await backend.subscribe(["channel"])
        events = backend.stream_events()
        first = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0.05)
        await backend.publish(b"hello", ["channel"])
        assert await asyncio.wait_for(first, 20) == ("channel", b"hello")
        assert await backend.get_history("channel") == [b"hello"]
        await backend.flush_all()
        assert await backend.get_history("channel") == []
        await backend.on_shutdown()
        store = RedisStore(client, namespace="tests")
        await store.set("a", "1", expires_in=100)
        assert await store.get("a", renew_for=200) == b"1"
        await store.delete_all()
        assert await store.get("a") is None
        await client.aclose()

    asyncio.run(main())


def test_socketio_managers_pass_events_on(url: str) -> None:
    import socketio

    async def main() -> None:
        manager = socketio.AsyncRedisManager(url)
        server = socketio.AsyncServer(client_manager=manager, async_mode="asgi")
        received: asyncio.Queue[object] = asyncio.Queue()

        async def deliver(message: dict[str, object]) -> None:
            await received.put(message["event"])

        manager._handle_emit = deliver
        manager.set_server(server)
        manager.initialize()
        writer = socketio.AsyncRedisManager(url, write_only=True)
        for _ in range(100):
            await writer.emit("news", {"a": 1})
            await asyncio.sleep(0.02)
            if not received.empty():
                break
        assert await asyncio.wait_for(received.get(), 20) == "news"
        manager.thread.cancel()

    asyncio.run(main())
