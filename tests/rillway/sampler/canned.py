"""A server of canned replies, as those of Redis 5.0 to 8.2 and Rillway are, and a fake clock.

It holds what its streams look like, not what is in them; each request takes it `cost_us`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rillway.sampler import Sampler
from rillway.sampler.replies import Words

NOW_MS = 1_795_608_005_000
VERSIONS = ("5.0.14", "6.0.16", "6.2.14", "7.0.15", "7.2.5", "8.2.3", "8.10.0 rillway")


class ErrorReply(Exception):
    """As redis-py and our own connection have them."""


@dataclass
class CannedGroup:
    consumers: dict[str, tuple[int, int]] = field(default_factory=dict)  # pending, idle_ms
    lag: int | None = 0
    entries_read: int | None = 0
    oldest_id: str | None = None
    last_delivered_id: str = "0-0"
    policy: list[Any] = field(default_factory=list)  # the reply to XINFO POLICY

    @property
    def pending(self) -> int:
        return sum(pending for pending, _ in self.consumers.values())


@dataclass
class CannedStream:
    length: int = 0
    added: int = 0
    groups: dict[str, CannedGroup] = field(default_factory=dict)
    entry: list[Any] = field(default_factory=lambda: [b"1795608000000-0", [b"n", b"1"]])
    policy: list[Any] = field(default_factory=list)


class CannedServer:
    """`call_all` answers; `requests` has all that was asked, in order."""

    def __init__(self, version: str = "8.2.3", cost_us: int = 10, network_us: int = 100) -> None:
        self.version, _, self.product = version.partition(" ")
        self.numbers = tuple(map(int, self.version.split(".")))
        self.now_us = NOW_MS * 1000
        self.cost_us = cost_us
        self.network_us = network_us
        self.streams: dict[str, CannedStream] = {}
        self.refused: set[str] = set()
        self.requests: list[Words] = []
        self.info: dict[str, dict[str, object]] = {"clients": {"connected_clients": 3}}
        self.client_list = b""
        self.hot_keys: list[Any] | None = None  # the reply to HOTKEYS GET

    # -- the clock --------------------------------------------------------------------------------

    @property
    def now_s(self) -> float:
        return self.now_us / 1_000_000

    def advance(self, seconds: float) -> None:
        self.now_us += round(seconds * 1_000_000)

    # -- driving a sampler ------------------------------------------------------------------------

    def step(self, sampler: Sampler) -> list[Words]:
        """One batch, if there is one; else the wait for it."""
        requests = sampler.plan(self.now_s)
        if requests:
            replies = self.call_all(requests)
            sampler.accept(replies, self.now_s)
        else:
            self.advance(max(sampler.wait_s(self.now_s), 0.001))
        return requests

    def run(self, sampler: Sampler, seconds: float) -> None:
        end_s = self.now_s + seconds
        while self.now_s < end_s:
            self.step(sampler)

    def finish_round(self, sampler: Sampler, most_steps: int = 10_000) -> None:
        for _ in range(most_steps):
            if sampler.round_done:
                return
            self.step(sampler)
        raise AssertionError("the round does not end")

    def call_all(self, requests: Sequence[Words]) -> list[Any]:
        self.now_us += self.network_us
        replies = []
        for words in requests:
            self.requests.append(words)
            self.now_us += self.cost_us
            try:
                replies.append(self._reply(words))
            except ErrorReply as error:
                replies.append(error)
        return replies

    def asked(self, *beginning: object) -> list[Words]:
        """The requests that begin with these words."""
        return [words for words in self.requests if words[: len(beginning)] == beginning]

    # -- replies ----------------------------------------------------------------------------------

    def _reply(self, words: Words) -> Any:
        name = str(words[0])
        if name in self.refused:
            raise ErrorReply(
                f"NOPERM User u has no permissions to run the '{name.lower()}' command"
            )
        reply: Callable[..., Any] = getattr(self, f"_{name.lower()}")
        return reply(*words[1:])

    def _time(self) -> list[bytes]:
        return [b"%d" % (self.now_us // 1_000_000), b"%d" % (self.now_us % 1_000_000)]

    def _info(self, section: str) -> bytes:
        fields = dict(self.info.get(section, {}))
        if section == "server":
            fields |= {"redis_version": self.version, "uptime_in_seconds": 60}
            if self.product:
                fields["rillway_version"] = "0.1.0"
        lines = [f"# {section}", *(f"{name}:{value}" for name, value in fields.items()), ""]
        return "\r\n".join(lines).encode()

    def _client(self, *words: object) -> bytes:
        return self.client_list

    def _slowlog(self, *words: object) -> list[Any]:
        return [[7, NOW_MS // 1000, 14_000, [b"XRANGE", b"audit"], b"10.0.0.7:5000", b"reports"]]

    def _hotkeys(self, *words: object) -> list[Any] | None:
        if self.numbers < (8, 6):
            raise ErrorReply("ERR unknown command 'HOTKEYS', with args beginning with: 'GET' ")
        return self.hot_keys

    def _latency(self, what: str, *names: str) -> list[Any]:
        if what == "HISTOGRAM":
            if self.numbers < (7, 0):
                raise ErrorReply("ERR Unknown subcommand or wrong number of arguments")
            buckets = [1, 40, 2, 98, 8, 99, 64, 100]
            return [b"xadd", [b"calls", 100, b"histogram_usec", buckets]]
        return [[b"command", NOW_MS // 1000, 12, 40]]

    def _scan(self, cursor: bytes, *options: object) -> list[Any]:
        if "TYPE" in options and self.numbers < (6, 0):
            raise ErrorReply("ERR syntax error")
        return [b"0", [name.encode() for name in self.streams]]

    def _type(self, name: bytes) -> bytes:
        return b"stream"

    def _memory(self, what: str, name: bytes) -> int:
        return 1000

    def _xlen(self, name: bytes) -> int:
        found = self.streams.get(name.decode())
        return found.length if found else 0

    def _xrevrange(self, name: bytes, *words: object) -> list[Any]:
        return [self._stream(name).entry]

    def _stream(self, name: bytes) -> CannedStream:
        if name.decode() not in self.streams:
            raise ErrorReply("ERR no such key")
        return self.streams[name.decode()]

    def _group(self, name: bytes, group: bytes) -> CannedGroup:
        return self._stream(name).groups[group.decode()]

    def _xinfo(self, what: str, name: bytes, *rest: bytes) -> Any:
        reply: Callable[..., Any] = getattr(self, f"_xinfo_{what.lower()}")
        return reply(name, *rest)

    def _xinfo_stream(self, name: bytes) -> list[Any]:
        stream = self._stream(name)
        fields: list[Any] = [b"length", stream.length, b"last-generated-id", stream.entry[0]]
        if self.numbers >= (7, 0):
            fields += [b"entries-added", stream.added]
        return [*fields, b"groups", len(stream.groups), b"first-entry", stream.entry]

    def _xinfo_groups(self, name: bytes) -> list[Any]:
        found = []
        for group, known in self._stream(name).groups.items():
            fields: list[Any] = [b"name", group.encode(), b"consumers", len(known.consumers)]
            fields += [b"pending", known.pending]
            fields += [b"last-delivered-id", known.last_delivered_id.encode()]
            if self.numbers >= (7, 0):
                fields += [b"entries-read", known.entries_read, b"lag", known.lag]
            found.append(fields)
        return found

    def _xinfo_consumers(self, name: bytes, group: bytes) -> list[Any]:
        found = []
        for consumer, (pending, idle_ms) in self._group(name, group).consumers.items():
            fields = [b"name", consumer.encode(), b"pending", pending, b"idle", idle_ms]
            if self.numbers >= (7, 2):
                fields += [b"inactive", idle_ms if pending else -1]
            found.append(fields)
        return found

    def _xinfo_policy(self, name: bytes, *group: bytes) -> list[Any]:
        if not self.product:
            raise ErrorReply("ERR unknown subcommand or wrong number of arguments for 'POLICY'")
        if "XINFO POLICY" in self.refused:
            raise ErrorReply("NOPERM User u has no permissions to run the 'xinfo|policy' command")
        if group:
            return self._group(name, *group).policy
        stream = self._stream(name)
        count = sum(bool(one.policy) for one in stream.groups.values())
        return stream.policy + ([b"groups-with-policy", count] if count else [])

    def _xpending(self, name: bytes, group: bytes) -> list[Any]:
        known = self._group(name, group)
        if not known.pending:
            return [0, None, None, None]
        oldest = (known.oldest_id or "1795608000000-0").encode()
        return [known.pending, oldest, b"1795608004000-0", []]
