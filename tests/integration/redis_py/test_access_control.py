"""Users through redis-py, sync and asyncio: rights, open connections, blocked clients, messages."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest
import redis
import redis.asyncio
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, ConnectionError, NoPermissionError, ResponseError
from redis.retry import Retry

from tests.conftest import running
from tests.integration.redis_py.conftest import Client
from tests.support.programs.servers import RunningServer, start_rillway
from tests.support.waiting import until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.parametrize("protocol", [2, 3], ids=["resp2", "resp3"]),
]

WORKER = "on >secret ~jobs:* %R~config:* &jobs +@stream +@list +@pubsub +@connection +get -xtrim"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server of this module's own: its users would be in the way of other tests."""
    yield from running(lambda: start_rillway(tmp_path_factory.mktemp("users")))


@pytest.fixture
def boss(own: RunningServer, protocol: int) -> Iterator[Client]:
    """An administrator; there is a user `worker`."""
    with redis.Redis(port=own.port, protocol=protocol, decode_responses=True) as client:
        assert client.execute_command("ACL", "SETUSER", "worker", *WORKER.split()) in ("OK", True)
        yield client
        client.acl_deluser("worker")
        client.acl_log_reset()
        client.flushall()


def as_worker(own: RunningServer, protocol: int, password: str = "secret") -> Client:
    return redis.Redis(
        port=own.port,
        protocol=protocol,
        username="worker",
        password=password,
        decode_responses=True,
        retry=Retry(NoBackoff(), 0),
    )


def test_a_user_does_what_it_may_and_nothing_else(
    own: RunningServer, boss: Client, protocol: int
) -> None:
    with as_worker(own, protocol) as worker:
        assert worker.ping()
        assert worker.xadd("jobs:1", {"f": "v"})
        assert worker.get("config:x") is None
        for words in (
            ("SET", "jobs:x", "1"),
            ("XADD", "config:x", "*", "f", "v"),
            ("XTRIM", "jobs:1", "MAXLEN", "0"),
            ("PUBLISH", "other", "m"),
            ("CONFIG", "GET", "*"),
        ):
            with pytest.raises(NoPermissionError):
                worker.execute_command(*words)
    with as_worker(own, protocol, "wrong") as stranger, pytest.raises(AuthenticationError):
        stranger.ping()
    log = boss.acl_log()
    assert {entry["reason"] for entry in log} == {"auth", "command", "key", "channel"}
    assert all(entry["username"] == "worker" for entry in log)
    boss.acl_log_reset()
    assert boss.acl_log() == []


def test_the_acl_calls_of_redis_py_work(boss: Client, protocol: int) -> None:
    assert boss.acl_setuser(
        "ann", enabled=True, nopass=True, commands=["+get"], keys=["a*"], channels=["c"],
        selectors=[("+set", "%W~b")], categories=["+@geo"],
    )  # fmt: skip
    user = boss.acl_getuser("ann")
    assert user["keys"] in (["~a*"], "~a*") and "on" in user["flags"]
    assert boss.acl_users() == ["ann", "default", "worker"]
    assert any(line.startswith("user ann on nopass ") for line in boss.acl_list())
    assert "get" in boss.acl_cat("string") and len(boss.acl_cat()) == 21
    assert len(boss.acl_genpass(128)) == 32
    assert boss.acl_dryrun("ann", "GET", "a1") in ("OK", b"OK")
    assert "no permissions" in boss.acl_dryrun("ann", "GET", "b1")
    assert boss.acl_deluser("ann") == 1
    with pytest.raises(ResponseError, match="not configured to use an ACL file"):
        boss.acl_save()


def test_a_removed_user_is_disconnected(own: RunningServer, boss: Client, protocol: int) -> None:
    with as_worker(own, protocol) as worker, worker.client() as pinned:
        pinned.ping()
        assert [one["user"] for one in boss.client_list()].count("worker") == 1
        assert boss.acl_deluser("worker") == 1
        with pytest.raises(ConnectionError):
            pinned.ping()
        with pytest.raises((AuthenticationError, ConnectionError)):
            worker.ping()


def test_a_change_acts_on_open_connections(own: RunningServer, boss: Client, protocol: int) -> None:
    with as_worker(own, protocol) as worker, worker.client() as pinned:
        with pytest.raises(NoPermissionError):
            pinned.set("jobs:x", 1)
        boss.execute_command("ACL", "SETUSER", "worker", "+set")
        assert pinned.set("jobs:x", 1)
        boss.execute_command("ACL", "SETUSER", "worker", "resetkeys")
        with pytest.raises(NoPermissionError):
            pinned.get("jobs:x")


def test_a_subscriber_that_loses_its_channel_is_disconnected(
    own: RunningServer, boss: Client, protocol: int
) -> None:
    with as_worker(own, protocol) as worker, worker.pubsub() as pubsub:
        pubsub.subscribe("jobs")
        assert pubsub.get_message(timeout=60)["type"] == "subscribe"
        boss.publish("jobs", "first")
        assert pubsub.get_message(timeout=60)["data"] == "first"
        boss.execute_command("ACL", "SETUSER", "worker", "&more")
        boss.publish("jobs", "second")
        assert pubsub.get_message(timeout=60)["data"] == "second"
        boss.execute_command("ACL", "SETUSER", "worker", "resetchannels", "&other")
        with pytest.raises((ConnectionError, NoPermissionError)):
            while True:
                pubsub.get_message(timeout=5)


def test_a_blocked_client_is_checked_when_it_is_served(
    own: RunningServer, boss: Client, protocol: int
) -> None:
    errors: list[Exception] = []

    def wait(worker: Client) -> None:
        try:
            worker.blpop(["jobs:list"], timeout=20)
        except NoPermissionError as error:
            errors.append(error)

    with as_worker(own, protocol) as worker:
        thread = threading.Thread(target=wait, args=(worker,))
        thread.start()
        until(lambda: boss.info("clients")["blocked_clients"] == 1)
        boss.execute_command("ACL", "SETUSER", "worker", "-blpop")
        assert boss.rpush("jobs:list", "v") == 1
        thread.join(20)
    assert len(errors) == 1 and boss.llen("jobs:list") == 1


def test_asyncio_clients_are_users_too(own: RunningServer, boss: Client, protocol: int) -> None:
    async def work() -> None:
        async with redis.asyncio.Redis(
            port=own.port, protocol=protocol, username="worker", password="secret"
        ) as worker:
            assert await worker.xadd("jobs:1", {"f": "v"})
            with pytest.raises(NoPermissionError):
                await worker.set("jobs:x", 1)
            async with worker.pipeline(transaction=True) as pipe:
                pipe.get("config:x")
                pipe.set("jobs:x", 1)
                with pytest.raises((NoPermissionError, ResponseError)):
                    await pipe.execute()
            reading: asyncio.Future[object] = asyncio.ensure_future(
                worker.xread({"jobs:1": "$"}, block=20_000)
            )
            await asyncio.sleep(0)
            while boss.info("clients")["blocked_clients"] < 1:
                await asyncio.sleep(0.01)
            boss.acl_deluser("worker")
            with pytest.raises((ConnectionError, AuthenticationError)):
                await reading

    asyncio.run(work())
