"""A node as other nodes see it, and a connection to a node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from rillway.cluster.arguments import BUS_PORT_OFFSET
from rillway.net.polling import poll


class ClusterFailed(Exception):
    """A job failed. The text is a sentence for the user: what is wrong, and what to do."""


class NoPassword(ClusterFailed):
    """A node asks for a password, and none or a wrong one was given."""


class NotReady(ClusterFailed):
    """A node cannot be reached, or answers with an error that may pass."""


class NoMemory(NotReady):
    """A node refuses a write because of `maxmemory`."""


SLOT_COUNT = 16_384
ANSWER_SECONDS = 5.0
POLL_SECONDS = 0.01
FIELDS_BEFORE_SLOTS = 8
FAILED = {"fail", "fail?"}


@dataclass(frozen=True)
class Node:
    """A line of CLUSTER NODES or nodes.conf. `migrating`, `importing`: the other node by slot."""

    id: str
    host: str
    port: int
    flags: frozenset[str]
    primary_id: str | None
    epoch: int
    bus_port: int = 0
    slots: tuple[tuple[int, int], ...] = ()
    migrating: dict[int, str] = field(default_factory=dict, compare=False)
    importing: dict[int, str] = field(default_factory=dict, compare=False)
    is_linked: bool = field(default=True, compare=False)  # to the node whose view this is

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def is_myself(self) -> bool:
        return "myself" in self.flags

    @property
    def is_primary(self) -> bool:
        return "master" in self.flags

    @property
    def is_known(self) -> bool:
        """False during the handshake of two nodes, and for a node without an address."""
        return not self.flags & {"handshake", "noaddr"}

    @property
    def has_failed(self) -> bool:
        return bool(self.flags & FAILED)

    @property
    def slot_count(self) -> int:
        return sum(last - first + 1 for first, last in self.slots)

    def each_slot(self) -> Iterator[int]:
        for first, last in self.slots:
            yield from range(first, last + 1)


def parse_nodes(text: str) -> list[Node]:
    """Parse a reply to CLUSTER NODES, or the text of a nodes.conf."""
    lines = (line.split() for line in text.splitlines())
    return [parse_node(words) for words in lines if words and words[0] != "vars"]


def parse_node(words: Sequence[str]) -> Node:
    place, _, rest = words[1].partition("@")
    bus_port = int(rest.partition(",")[0])
    host, _, port = place.rpartition(":")
    slots: list[tuple[int, int]] = []
    migrating: dict[int, str] = {}
    importing: dict[int, str] = {}
    for word in words[FIELDS_BEFORE_SLOTS:]:
        if word.startswith("["):
            slot, sign, node_id = word[1:-1].split("-", 2)
            marks = migrating if sign == ">" else importing
            marks[int(slot)] = node_id
        else:
            first, _, last = word.partition("-")
            slots.append((int(first), int(last or first)))
    primary_id = None if words[3] == "-" else words[3]
    flags = frozenset(words[2].split(","))
    epoch = int(words[6])
    return Node(
        *(words[0], host, int(port), flags, primary_id, epoch, bus_port),
        *(tuple(slots), migrating, importing, words[7] == "connected"),
    )


class Member:
    """A connection to a running node. Errors are raised as ClusterFailed."""

    def __init__(
        self,
        port: int,
        *,
        host: str = "127.0.0.1",
        bus_port: int = 0,
        password: str = "",
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        self.host, self.port, self.password = host, port, password
        self.bus_port = bus_port or port + BUS_PORT_OFFSET
        # No retries: the caller decides whether to try again.
        self._client: Any = redis.Redis(
            host=host,
            port=port,
            password=password or None,
            decode_responses=True,
            encoding_errors="surrogateescape",  # names of keys may be any bytes
            socket_timeout=answer_seconds,
            retry=Retry(NoBackoff(), 0),
        )

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def ask(self, *words: str | int) -> Any:
        """Return the reply to a command, as the server sends it."""
        with self._as_failures():
            return self._client.execute_command(*words)

    def ask_all(self, commands: Iterable[tuple[str | int, ...]]) -> list[Any]:
        """Send several commands at once, and return their replies."""
        with self._as_failures(), self._client.pipeline(transaction=False) as pipeline:
            for words in commands:
                pipeline.execute_command(*words)
            return list(pipeline.execute())

    @contextmanager
    def _as_failures(self) -> Iterator[None]:
        try:
            yield
        except redis.AuthenticationError:
            raise NoPassword(
                f"the node {self.address} asks for a password: give it in REDISCLI_AUTH"
            ) from None
        except (redis.ConnectionError, redis.TimeoutError) as error:
            raise NotReady(f"the node {self.address} does not answer: {error}") from None
        except redis.OutOfMemoryError as error:
            raise NoMemory(f"the node {self.address} refuses a write: {error}") from None
        except redis.RedisError as error:
            raise NotReady(f"the node {self.address} answers: {error}") from None

    def nodes(self) -> list[Node]:
        """Return all nodes, as this one sees them."""
        # Two words, so that redis-py does not parse the reply.
        return parse_nodes(self.ask("CLUSTER", "NODES"))

    @cached_property
    def id(self) -> str:
        return str(self.ask("CLUSTER", "MYID"))

    def myself(self) -> Node:
        return next(node for node in self.nodes() if node.is_myself)

    def is_ok(self) -> bool:
        """Return True if it serves keys: all slots are covered, and it reaches a majority."""
        return "cluster_state:ok" in self.ask("CLUSTER", "INFO")

    def is_synchronised(self) -> bool:
        """Return True for a primary, or a replica that is synchronised."""
        role = self.ask("ROLE")
        return bool(role[0] == "master" or role[3] == "connected")

    def end_without_failover(self) -> None:
        """Keep the node from handing its role over when it ends, if it answers."""
        with suppress(ClusterFailed):
            words = self.ask("CONFIG GET", "shutdown-on-sigterm")["shutdown-on-sigterm"]
            others = [word for word in words.split() if word != "failover"]
            self.ask("CONFIG", "SET", "shutdown-on-sigterm", " ".join(others) or "default")

    def close(self) -> None:
        self._client.close()


def wait_until(holds: Callable[[], bool], seconds: float, otherwise: Callable[[], str]) -> None:
    """Wait until a condition holds; a node that is not ready is asked again.

    Raises ClusterFailed with the text of `otherwise` at the deadline.
    """
    reason: NotReady | None = None

    def is_reached() -> bool:
        nonlocal reason
        reason = None
        try:
            return holds()
        except NotReady as failure:
            reason = failure
            return False

    if not poll(is_reached, seconds, pause_s=POLL_SECONDS):
        raise ClusterFailed(str(reason) if reason else otherwise())
