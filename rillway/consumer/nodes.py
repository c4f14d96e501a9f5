"""Sends requests to the server that has a key: a single server, or the node with its slot.

Follows MOVED and ASK, so slots may move while a consumer runs. `refresh` learns the nodes again,
including replicas, from any node that answers. Replies are those of RESP2, unchanged.

redis-py's cluster client is not used, because concurrent requests disturb each other (8.1): every
fifth MOVED closes the connections to all nodes, also those of blocked reads; ASKING and its request
may be sent on different connections; and a failed read is repeated, which hides that the entries of
the first reply are pending.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import redis
import redis.asyncio
from redis.asyncio.connection import Connection, UnixDomainSocketConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.crc import key_slot
from redis.exceptions import ClusterDownError, TryAgainError

from rillway.net.routing import Address, Step, address_of, decide, text_of

Request: TypeAlias = tuple[Any, ...]

# Errors that plain clients of older releases of redis-py do not know.
WAITING: dict[str, type[redis.RedisError]] = {
    "TRYAGAIN": TryAgainError,
    "CLUSTERDOWN": ClusterDownError,
}
SOCKET_TIMEOUT_SECONDS = 10.0


class Nodes:
    """A redis-py client for each node. Every method raises redis-py's errors.

    Without redis-py's retries: a repeated XREADGROUP would hide that the entries of the first, lost
    reply are now in the backlog.
    """

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        """`url`: the server, or any node of the cluster; `options`: for redis-py's connections."""
        pool = redis.asyncio.ConnectionPool.from_url(
            url,
            **{
                "socket_timeout": SOCKET_TIMEOUT_SECONDS,
                "socket_keepalive": True,
                **options,
                "retry": Retry(NoBackoff(), 0),
                "protocol": 2,
                "decode_responses": False,
            },
        )
        self.options: dict[str, Any] = dict(pool.connection_kwargs)
        first = self.options.get("host", "localhost"), int(self.options.get("port", 6379))
        self._first: Address = first
        self._clients: dict[Address, Any] = {first: _client(pool)}
        self._class = pool.connection_class
        self._ranges: list[tuple[int, int, Address]] = []
        self._known: list[Address] = []  # those in the ranges
        self._moved: dict[int, Address] = {}  # since the ranges were learned
        self._is_single = False

    @property
    def timeout_seconds(self) -> float:
        """The timeout of replies."""
        return float(self.options["socket_timeout"] or SOCKET_TIMEOUT_SECONDS)

    def are_apart(self, key: str, other: str) -> bool:
        """Return True if two keys are in different slots, so that no transaction can have both."""
        return bool(self._ranges) and key_slot(key.encode()) != key_slot(other.encode())

    async def aclose(self) -> None:
        for client in self._clients.values():
            await client.aclose()

    # -- which node -------------------------------------------------------------------------------

    async def refresh(self) -> None:
        """Ask nodes for the map of slots until one answers, first those in the present map.

        A server without a cluster, or that refuses the command, has all slots, and is asked once.
        """
        if self._is_single:
            return
        lost: Exception | None = None
        former = [address for address in self._clients if address not in self._known]
        for address in random.sample(self._known, len(self._known)) + former:
            try:
                reply = await self._clients[address].execute_command("CLUSTER", "SLOTS")
            except redis.AuthenticationError:
                raise
            except (redis.ConnectionError, redis.TimeoutError, OSError) as error:
                lost = error
            except redis.ResponseError:
                self._is_single = True
                return
            else:
                self._learn(reply, address)
                return
        assert lost is not None
        raise lost

    def _learn(self, reply: Any, asked: Address) -> None:
        self._ranges = []
        self._known = []
        self._moved = {}
        for start, end, *nodes in reply:
            addresses = [
                address_of((name or b"").decode(), port, asked[0]) for name, port, *_ in nodes
            ]
            self._ranges.append((start, end, addresses[0]))
            for address in addresses:
                if address not in self._known:
                    self._known.append(address)
                self._client_of(address)

    def _address_of(self, slot: int) -> Address:
        if slot in self._moved:
            return self._moved[slot]
        for start, end, address in self._ranges:
            if start <= slot <= end:
                return address
        return self._first

    def _client_of(self, address: Address) -> Any:
        if address not in self._clients:
            options = self.options | {"host": address[0], "port": address[1]}
            options.pop("path", None)
            kind = Connection if self._class is UnixDomainSocketConnection else self._class
            self._clients[address] = _client(
                redis.asyncio.ConnectionPool(connection_class=kind, **options)
            )
        return self._clients[address]

    # -- requests ---------------------------------------------------------------------------------

    async def execute(self, key: str, *words: Any) -> Any:
        """Return the reply to one request about a key."""
        return (await self._redirected(key, [words], transaction=False))[0]

    async def execute_all(self, key: str, requests: Sequence[Request]) -> list[Any]:
        """Return the replies to requests about keys of one slot, sent together."""
        return await self._redirected(key, requests, transaction=False)

    async def transaction(self, key: str, requests: Sequence[Request]) -> list[Any]:
        """Return the replies to requests about keys of one slot, in one transaction."""
        return await self._redirected(key, requests, transaction=True)

    async def _redirected(
        self, key: str, requests: Sequence[Request], *, transaction: bool
    ) -> list[Any]:
        """Send requests and follow redirections. Raises ConnectionError if the nodes disagree."""
        slot = key_slot(key.encode())
        address, asking = self._address_of(slot), False
        for attempts in itertools.count(1):
            client = self._client_of(address)
            try:
                return await _send(client, requests, transaction=transaction, asking=asking)
            except redis.ResponseError as error:
                step, _, found = decide(text_of(error), address[0], redirections=attempts)
                if step is Step.GIVE_UP:
                    break
                if step in (Step.FAIL, Step.WAIT):
                    raise recognized(error) from None
            address, asking = found, step is Step.ASK
            if not asking:
                self._moved[slot] = address
        raise redis.ConnectionError(f"the nodes do not agree about who has slot {slot}")


def recognized(error: redis.ResponseError) -> redis.RedisError:
    """Return an error with its class, which plain clients of older redis-py lack."""
    word, _, rest = str(error).partition(" ")
    return WAITING[word](rest) if word in WAITING else error


def _client(pool: redis.asyncio.ConnectionPool) -> Any:
    client = redis.asyncio.Redis.from_pool(pool)
    client.response_callbacks.clear()
    return client


async def _send(
    client: Any, requests: Sequence[Request], *, transaction: bool, asking: bool
) -> list[Any]:
    """Return the replies of one node; raises the first error among them.

    ASKING applies to one request, or to one MULTI with everything up to EXEC.
    """
    if len(requests) == 1 and not transaction and not asking:
        return [await client.execute_command(*requests[0])]
    sent: list[Request] = [("MULTI",), *requests, ("EXEC",)] if transaction else list(requests)
    if asking:
        places = [0] if transaction else range(len(sent))
        for place in reversed(places):
            sent.insert(place, ("ASKING",))
    async with client.pipeline(transaction=False) as pipeline:
        for request in sent:
            pipeline.execute_command(*request)
        replies = await pipeline.execute(raise_on_error=False)
    if transaction and isinstance(replies[-1], list):
        replies = replies[-1]
    elif asking and not transaction:
        replies = replies[1::2]
    for reply in replies:
        if isinstance(reply, Exception):
            raise reply
    return list(replies)
