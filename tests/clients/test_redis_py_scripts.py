"""redis-py's locks, scripts and functions."""

from __future__ import annotations

import pytest
import redis
from redis.exceptions import LockError, LockNotOwnedError, ResponseError

pytestmark = pytest.mark.integration

LIBRARY = """#!lua name=lib
redis.register_function('twice', function(_, args) return args[1] * 2 end)
"""


@pytest.fixture(params=[2, 3])
def client(url: str, request: pytest.FixtureRequest) -> redis.Redis:
    return redis.Redis.from_url(url, protocol=request.param)


def test_a_lock_is_taken_extended_and_given_back(client: redis.Redis) -> None:
    lock = client.lock("lock", timeout=10)
    assert lock.acquire(blocking=False)
    assert not client.lock("lock").acquire(blocking=False)
    assert lock.extend(20) and 20 < client.ttl("lock") <= 30
    assert lock.reacquire() and client.ttl("lock") <= 10
    lock.release()
    assert client.exists("lock") == 0
    with pytest.raises(LockError):
        lock.release()


def test_a_lock_of_somebody_else_is_not_given_back(client: redis.Redis) -> None:
    lock = client.lock("lock", timeout=10)
    assert lock.acquire()
    client.set("lock", "another's")
    with pytest.raises(LockNotOwnedError):
        lock.release()


def test_a_registered_script_is_loaded_when_it_is_missing(client: redis.Redis) -> None:
    script = client.register_script("return {KEYS[1], ARGV[1], redis.call('incr', KEYS[1])}")
    assert script(keys=["k"], args=["a"]) == [b"k", b"a", 1]
    client.script_flush()
    assert script(keys=["k"], args=["a"]) == [b"k", b"a", 2]
    with client.pipeline() as pipe:
        script(keys=["k"], args=["b"], client=pipe)
        assert pipe.execute() == [[b"k", b"b", 3]]


def test_errors_of_scripts_are_raised(client: redis.Redis) -> None:
    with pytest.raises(ResponseError, match="on @user_script:1"):
        client.eval("return redis.call('incr')", 0)


def test_functions(client: redis.Redis) -> None:
    client.function_flush()
    assert client.function_load(LIBRARY) in (b"lib", "lib")
    assert client.fcall("twice", 0, 21) == 42
    assert client.function_list()
    payload = client.function_dump()
    client.function_delete("lib")
    assert client.function_restore(payload)  # type: ignore[arg-type]
    assert client.fcall("twice", 0, 4) == 8
