"""Clients of redis-py for one server, in the protocol of the test; they decode replies."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, TypeAlias

import pytest
import redis
import redis.asyncio

from tests.support.programs.servers import RunningServer

# redis-py gives every reply the types of its sync and its asyncio client at once.
Client: TypeAlias = Any


@pytest.fixture
def client(server: RunningServer, protocol: int) -> Iterator[Client]:
    with redis.Redis(port=server.port, protocol=protocol, decode_responses=True) as client:
        yield client


@pytest.fixture
async def async_client(server: RunningServer, protocol: int) -> AsyncIterator[Client]:
    """It has room for hundreds of waiting connections."""
    async with redis.asyncio.Redis(
        port=server.port, protocol=protocol, decode_responses=True, max_connections=2000
    ) as client:
        yield client


def entries_of(reply: Any, key: str) -> list[Any]:
    """The entries of one stream in what xread and xreadgroup return in either protocol."""
    if isinstance(reply, dict):
        found = reply.get(key, [])
        # In RESP3 redis-py wraps the entries of a stream once more.
        return [tuple(e) for part in found for e in (part if isinstance(part, list) else [part])]
    return [tuple(e) for name, entries in reply or [] if name == key for e in entries]
