"""Requests find their node: slots, MOVED, ASK, nodes that are down. Without sockets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redis
import redis.asyncio
from redis.crc import key_slot
from redis.exceptions import AskError, ClusterDownError, MovedError

from rillway.consumer import nodes as module
from rillway.consumer.nodes import Nodes
from rillway.net.routing import MOST_REDIRECTIONS

KEY = "orders:{3}"
SLOT = key_slot(KEY.encode())
NO_CLUSTER = redis.ResponseError("ERR This instance has cluster support disabled")


class Node:
    """A client of a node: notes what it was sent, and replies as it is told to."""

    def __init__(self) -> None:
        self.sent: list[tuple[Any, ...]] = []
        self.reply: Callable[[tuple[Any, ...]], Any] = lambda request: b"PONG"
        self.slots: Any = NO_CLUSTER
        self.is_closed = False

    async def execute_command(self, *request: Any) -> Any:
        found = self._reply_to(request)
        if isinstance(found, Exception):
            raise found
        return found

    def _reply_to(self, request: tuple[Any, ...]) -> Any:
        if request == ("CLUSTER", "SLOTS"):
            return self.slots
        self.sent.append(request)
        return self.reply(request)

    def pipeline(self, *, transaction: bool) -> Pipeline:
        assert not transaction
        return Pipeline(self)

    async def aclose(self) -> None:
        self.is_closed = True


class Pipeline:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._requests: list[tuple[Any, ...]] = []

    async def __aenter__(self) -> Pipeline:
        return self

    async def __aexit__(self, *error: object) -> None:
        pass

    def execute_command(self, *request: Any) -> None:
        self._requests.append(request)

    async def execute(self, *, raise_on_error: bool) -> list[Any]:
        assert not raise_on_error
        return [self._node._reply_to(request) for request in self._requests]


class Net(dict[int, Node]):
    """The nodes by their ports."""

    def __missing__(self, port: int) -> Node:
        self[port] = Node()
        return self[port]


@pytest.fixture
def net(monkeypatch: pytest.MonkeyPatch) -> Net:
    net = Net()
    monkeypatch.setattr(module, "_client", lambda pool: net[pool.connection_kwargs["port"]])
    return net


@pytest.fixture
def nodes(net: Net) -> Nodes:
    return Nodes("redis://127.0.0.1:7001", {})


def slots(*places: tuple[int, int, int]) -> list[Any]:
    return [[start, end, [b"127.0.0.1", port, b"id", []]] for start, end, port in places]


def once(error: Exception, then: Any = b"OK") -> Callable[[tuple[Any, ...]], Any]:
    replies = iter([error])
    return lambda request: next(replies, then)


async def test_a_server_that_is_no_cluster_has_all_keys(net: Net, nodes: Nodes) -> None:
    await nodes.refresh()
    assert await nodes.execute(KEY, "XLEN", KEY) == b"PONG"
    assert (list(net), net[7001].sent) == ([7001], [("XLEN", KEY)])


async def test_a_request_goes_to_the_node_that_has_the_slot(net: Net, nodes: Nodes) -> None:
    net[7001].slots = slots((0, SLOT - 1, 7001), (SLOT, SLOT, 7002), (SLOT + 1, 16383, 7003))
    await nodes.refresh()
    await nodes.execute(KEY, "XLEN", KEY)
    assert [net[port].sent for port in (7001, 7002, 7003)] == [[], [("XLEN", KEY)], []]


async def test_moved_is_followed_and_remembered(net: Net, nodes: Nodes) -> None:
    net[7001].reply = lambda request: MovedError(f"{SLOT} 127.0.0.1:7002")
    for _ in range(2):
        assert await nodes.execute(KEY, "XLEN", KEY) == b"PONG"
    assert (len(net[7001].sent), len(net[7002].sent)) == (1, 2)


async def test_moved_without_a_host_means_the_same_host(net: Net, nodes: Nodes) -> None:
    net[7001].reply = lambda request: MovedError(f"{SLOT} :7002")
    assert await nodes.execute(KEY, "XLEN", KEY) == b"PONG"
    assert len(net[7002].sent) == 1


async def test_ask_is_followed_once_with_asking_before_each_request(net: Net, nodes: Nodes) -> None:
    net[7001].reply = once(AskError(f"{SLOT} 127.0.0.1:7002"))
    net[7002].reply = lambda request: request[0]
    assert await nodes.execute_all(KEY, [("A", KEY), ("B", KEY)]) == ["A", "B"]
    assert net[7002].sent == [("ASKING",), ("A", KEY), ("ASKING",), ("B", KEY)]
    await nodes.execute(KEY, "C", KEY)
    assert net[7001].sent[-1] == ("C", KEY)


async def test_a_transaction_is_asked_for_as_a_whole(net: Net, nodes: Nodes) -> None:
    net[7001].reply = once(AskError(f"{SLOT} 127.0.0.1:7002"))
    net[7002].reply = lambda request: [b"5-0", 1] if request == ("EXEC",) else b"QUEUED"
    assert await nodes.transaction(KEY, [("A", KEY), ("B", KEY)]) == [b"5-0", 1]
    assert net[7002].sent == [("ASKING",), ("MULTI",), ("A", KEY), ("B", KEY), ("EXEC",)]


async def test_an_error_within_a_transaction_is_raised(net: Net, nodes: Nodes) -> None:
    wrong = redis.ResponseError("WRONGTYPE")
    net[7001].reply = lambda request: [wrong, 1] if request == ("EXEC",) else b"QUEUED"
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        await nodes.transaction(KEY, [("A", KEY), ("B", KEY)])


async def test_nodes_that_do_not_agree_are_an_interruption(net: Net, nodes: Nodes) -> None:
    net[7001].reply = lambda request: MovedError(f"{SLOT} 127.0.0.1:7002")
    net[7002].reply = lambda request: MovedError(f"{SLOT} 127.0.0.1:7001")
    with pytest.raises(redis.ConnectionError, match="do not agree"):
        await nodes.execute(KEY, "XLEN", KEY)
    assert len(net[7001].sent) + len(net[7002].sent) == MOST_REDIRECTIONS


async def test_any_node_that_lives_says_where_the_slots_are_now(net: Net, nodes: Nodes) -> None:
    net[7001].slots = slots((0, 16383, 7001))
    net[7001].slots[0].append([b"", 7002, b"replica", []])
    await nodes.refresh()
    net[7001].slots = redis.ConnectionError("refused")
    net[7002].slots = slots((0, 16383, 7002))
    await nodes.refresh()
    await nodes.execute(KEY, "XLEN", KEY)
    assert (net[7001].sent, net[7002].sent) == ([], [("XLEN", KEY)])


async def test_a_node_that_has_left_is_asked_last(net: Net, nodes: Nodes) -> None:
    net[7001].slots = slots((0, 16383, 7002))
    net[7002].slots = slots((0, 16383, 7002))
    await nodes.refresh()
    net[7001].slots = redis.ResponseError("must not be asked")
    for _ in range(10):
        await nodes.refresh()
    await nodes.execute(KEY, "XLEN", KEY)
    assert net[7002].sent == [("XLEN", KEY)]


async def test_keys_are_apart_in_different_slots_of_a_cluster_only(net: Net, nodes: Nodes) -> None:
    await nodes.refresh()
    assert not nodes.are_apart("orders", "orders:dead")
    cluster = Nodes("redis://127.0.0.1:7002", {})
    net[7002].slots = slots((0, 16383, 7002))
    await cluster.refresh()
    assert cluster.are_apart("orders", "orders:dead")
    assert not cluster.are_apart("{orders}", "{orders}:dead")


async def test_if_no_node_lives_the_error_is_raised(net: Net, nodes: Nodes) -> None:
    net[7001].slots = redis.ConnectionError("refused")
    with pytest.raises(redis.ConnectionError, match="refused"):
        await nodes.refresh()


async def test_a_wrong_password_is_raised_at_once(net: Net, nodes: Nodes) -> None:
    net[7001].slots = redis.AuthenticationError("WRONGPASS")
    with pytest.raises(redis.AuthenticationError):
        await nodes.refresh()


async def test_all_connections_are_closed(net: Net, nodes: Nodes) -> None:
    net[7001].slots = slots((0, 99, 7001), (100, 16383, 7002))
    await nodes.refresh()
    await nodes.aclose()
    assert [node.is_closed for node in net.values()] == [True, True]


def test_connections_of_other_nodes_have_the_options_of_the_url() -> None:
    nodes = Nodes("rediss://user:secret@127.0.0.1:7001?socket_timeout=3", {"client_name": "c"})
    other = nodes._client_of(("10.0.0.2", 7002)).connection_pool
    options = other.connection_kwargs
    assert (options["host"], options["port"]) == ("10.0.0.2", 7002)
    assert (options["username"], options["password"], options["client_name"]) == (
        "user", "secret", "c",
    )  # fmt: skip
    assert other.connection_class is redis.asyncio.SSLConnection
    assert nodes.timeout_seconds == 3


async def test_older_clients_do_not_know_the_errors_of_a_cluster(net: Net, nodes: Nodes) -> None:
    net[7001].reply = once(redis.ResponseError(f"MOVED {SLOT} 127.0.0.1:7002"))
    net[7002].reply = once(redis.ResponseError("CLUSTERDOWN The cluster is down"))
    with pytest.raises(ClusterDownError, match="The cluster is down"):
        await nodes.execute(KEY, "XLEN", KEY)
    assert await nodes.execute(KEY, "XLEN", KEY) == b"OK"
    assert len(net[7002].sent) == 2
