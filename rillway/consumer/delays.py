"""Entries that are added to a stream later: by the server, or by its consumers.

A server with delays (Rillway) keeps such an entry itself. On any other, it is a member of a sorted
set, whose score is the time: `orders:later` for the stream `orders`. Consumers that know of the set
add what is due to the stream between two reads, in a script, so that each entry is added once.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable
from typing import TypeAlias

import redis

from rillway.consumer.nodes import Nodes, Request

Pairs: TypeAlias = Iterable[tuple[bytes, bytes]]

MOST_AT_ONCE = 100
# KEYS: the stream, the sorted set. A member is a list: a name of its own, then names and values; or
# an object, as in docs/how-to/delayed-work.md. Returns how many ms the next one has to wait, or -1.
MOVE = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local due = redis.call('ZRANGE', KEYS[2], '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[1])
for _, member in ipairs(due) do
    local words = cjson.decode(member)
    local fields = {}
    if words[1] then
        for at = 2, #words do fields[at - 1] = words[at] end
    else
        for name, value in pairs(words) do
            fields[#fields + 1] = name
            fields[#fields + 1] = value
        end
    end
    redis.call('XADD', KEYS[1], '*', unpack(fields))
    redis.call('ZREM', KEYS[2], member)
end
local next = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
return next[1] and math.max(0, next[2] - now) or -1
"""
SPECIAL = re.compile(rb'["\\\x00-\x1f]')


class Delays:
    """The delayed entries of one stream. Every method raises redis-py's errors."""

    def __init__(self, nodes: Nodes, stream: str) -> None:
        self._nodes = nodes
        self._stream = stream
        # Whether the server has delays; None until it was asked.
        self._on_server: bool | None = None
        # Whether the sorted set is known to have members.
        self.are_here = False

    @property
    def key(self) -> str:
        """The sorted set, in the slot of the stream."""
        key = f"{self._stream}:later"
        return f"{{{self._stream}}}:later" if self._nodes.are_apart(self._stream, key) else key

    async def look(self) -> None:
        """Find out whether delayed entries are in the sorted set; a server with delays has none."""
        if self._on_server is None:
            self._on_server = await has_policies(self._nodes, self._stream)
        if not self._on_server:
            self.are_here = bool(await self._nodes.execute(self._stream, "EXISTS", self.key))

    async def requests(self, pairs: Pairs, delay_ms: int) -> list[Request]:
        """Return the requests that add an entry after a time; their keys are in one slot."""
        if self._on_server is None:
            await self.look()
        if self._on_server:
            words = [word for pair in pairs for word in pair]
            return [("XADD", self._stream, "DELAY", delay_ms, "*", *words)]
        self.are_here = True
        seconds, microseconds = await self._nodes.execute(self._stream, "TIME")
        due_ms = int(seconds) * 1000 + int(microseconds) // 1000 + delay_ms
        return [("ZADD", self.key, due_ms, member(pairs))]

    async def add(self, pairs: Pairs, delay_ms: int) -> None:
        """Add an entry after a time."""
        for request in await self.requests(pairs, delay_ms):
            await self._nodes.execute(self._stream, *request)

    async def move_due(self) -> int | None:
        """Add what is due to the stream; return the ms until the next is. None: none waits here."""
        if not self.are_here:
            return None
        keys = self._stream, self.key
        wait = await self._nodes.execute(self._stream, "EVAL", MOVE, 2, *keys, MOST_AT_ONCE)
        self.are_here = int(wait) >= 0
        return int(wait) if self.are_here else None


async def has_policies(nodes: Nodes, stream: str) -> bool:
    """Return True if the server has policies and delays, and the user may look at them."""
    try:
        await nodes.execute(stream, "XINFO", "POLICY", stream)
    except redis.ResponseError as error:
        return "no such key" in str(error)
    return True


def member(pairs: Pairs) -> bytes:
    """Return a member of the sorted set: a JSON list, in which bytes stay as they are."""
    words = [uuid.uuid4().hex.encode(), *(word for pair in pairs for word in pair)]
    return b"[" + b",".join(map(_quoted, words)) + b"]"


def _quoted(text: bytes) -> bytes:
    return b'"' + SPECIAL.sub(lambda found: b"\\u%04x" % found[0][0], text) + b'"'
