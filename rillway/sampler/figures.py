"""Figures of one moment: the server, streams, groups, consumers, clients, slow requests.

Names are bytes, as the server has them; times are Unix ms of the server's clock. None is unknown.
`as_json` gives plain dicts: names are strings, or {"base64": ...} where they are not UTF-8.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, TypeAlias

from rillway.json_bytes import to_json

# IDs that are times: from September 2001 until an hour from now.
LEAST_TIME_MS = 10**12
FUTURE_MS = 3_600_000

PolicyValue: TypeAlias = "str | int | list[int]"


class Figures:
    """The base of all figures."""

    __slots__ = ()

    def as_json(self) -> dict[str, Any]:
        """Return plain values, for json.dumps."""
        converted = plain(self)
        assert isinstance(converted, dict)
        return converted


@dataclass(frozen=True, slots=True)
class ConsumerFigures(Figures):
    """A consumer. `idle_ms`: since its last request for this group; grows in a blocked read, too.

    `inactive_ms`: since it last received an entry; None before Redis 7.2, or if it never did.
    `is_dead`: it was idle for too long with pending entries, and not seen since. `moved`: entries
    claimed by it (positive) or from it (negative) within the last minute.
    """

    name: bytes
    pending: int
    idle_ms: int
    inactive_ms: int | None = None
    is_dead: bool = False
    moved: int = 0


@dataclass(frozen=True, slots=True)
class Move(Figures):
    """Pending entries that moved between consumers, derived from two samples."""

    time_ms: int
    giver: bytes
    taker: bytes | None
    entries: int


@dataclass(frozen=True, slots=True)
class GroupFigures(Figures):
    """A group. `oldest_ms`: age of the lowest pending ID; None without one, or if it is no time.

    `consumers` is None unless they were requested; `consumer_count` is always known. What follows
    it is None in a group without a delivery policy, and where the server has none: entries that the
    next reads get again (`due`), that wait for a back-off or a delay (`delayed`), whether a bound
    keeps new entries back (`held`), and entries that the server moved to the dead letters.
    `waits_for`: what entries wait for, in the order of waits.py, and how many; None is unknown.
    `policy` is empty for a group without one, None if it was not asked for.
    """

    name: bytes
    lag: int | None
    pending: int
    entries_read: int | None
    last_delivered_id: str
    oldest_id: str | None = None
    oldest_ms: int | None = None
    out_per_s: float | None = None
    consumer_count: int = 0
    dead_count: int | None = None
    consumers: tuple[ConsumerFigures, ...] | None = None
    moves: tuple[Move, ...] = ()
    due: int | None = None
    delayed: int | None = None
    held: bool | None = None
    dead_letters: int | None = None
    next_due_ms: int | None = None
    waits_for: Mapping[str, int | None] = field(default_factory=dict)
    policy: Mapping[str, PolicyValue] | None = None


@dataclass(frozen=True, slots=True)
class StreamFigures(Figures):
    """A stream at `time_ms`. Lag, pending and oldest are those of its worst group.

    `in_is_estimate`: derived from XLEN, because the server does not count added entries (before
    7.0), or the entries are too large to request. `scheduled`: entries that are added later (XADD
    DELAY), None where the server has none. `groups` is None until they were read, and before 5.0.
    """

    db: int
    name: bytes
    time_ms: int
    length: int
    entries_added: int | None = None
    first_id: str | None = None
    last_id: str | None = None
    memory_bytes: int | None = None
    in_per_s: float | None = None
    in_is_estimate: bool = False
    out_per_s: float | None = None
    lag: int | None = None
    pending: int | None = None
    oldest_ms: int | None = None
    scheduled: int | None = None
    next_scheduled_ms: int | None = None
    policy: Mapping[str, PolicyValue] | None = None
    groups: tuple[GroupFigures, ...] | None = None

    @property
    def dead_count(self) -> int:
        """The number of known dead consumers in all groups."""
        return sum(group.dead_count or 0 for group in self.groups or ())

    @property
    def due(self) -> int | None:
        """The number of entries that are due in all groups; None without a policy."""
        return _sum(group.due for group in self.groups or ())

    @property
    def delayed(self) -> int | None:
        """The number of scheduled entries, and of delayed ones in all groups."""
        return _sum([self.scheduled, *(group.delayed for group in self.groups or ())])

    @property
    def dead_letters(self) -> int | None:
        """The number of entries that the server moved to the dead letters, in all groups."""
        return _sum(group.dead_letters for group in self.groups or ())

    @property
    def is_held(self) -> bool:
        """True if a bound keeps new entries from one of the groups."""
        return any(group.held for group in self.groups or ())


def _sum(numbers: Iterable[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


@dataclass(frozen=True, slots=True)
class ReplicaFigures(Figures):
    """A replica. `lag_s`: the time since it last reported its offset."""

    address: str
    state: str
    lag_s: int | None


@dataclass(frozen=True, slots=True)
class LatencyFigures(Figures):
    """Latencies of a command since the server's start or CONFIG RESETSTAT.

    Percentiles are upper bounds of the server's buckets; None without a histogram (before 7.0):
    `max_us` is then the maximum of its latency monitor.
    """

    calls: int | None
    p50_us: int | None = None
    p99_us: int | None = None
    p999_us: int | None = None
    max_us: int | None = None


@dataclass(frozen=True, slots=True)
class SlowRequest(Figures):
    """A request in SLOWLOG. `words` are those that the server keeps, shortened."""

    id: int
    time_ms: int
    took_us: int
    words: tuple[bytes, ...]
    client: str = ""
    client_name: str = ""


@dataclass(frozen=True, slots=True)
class HotKey(Figures):
    """A key in the result of HOTKEYS: what its requests took, as far as that was counted."""

    name: bytes
    took_us: int | None = None
    net_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class ClientFigures(Figures):
    """A line of CLIENT LIST. `flags` are those of Redis: b is blocked."""

    id: int
    address: str
    name: str
    db: int
    age_s: int
    idle_s: int
    flags: str
    command: str
    user: str = ""
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class ServerFigures(Figures):
    """The server at `time_ms`. `error`: its answer to INFO if that failed, such as LOADING.

    `aof`: off, ok, err or rewriting. `databases`: keys by number. `blocked`: blocked clients by
    command, None above 1,000 clients, as is `client_list`. `refused`: commands that the user may
    not send, with the reason. `is_cluster_node`: other nodes have streams, too.
    """

    time_ms: int = 0
    product: str = ""
    version: str = ""
    is_cluster_node: bool = False
    role: str = ""
    uptime_s: int | None = None
    requests_per_s: int | None = None
    used_memory_bytes: int | None = None
    max_memory_bytes: int | None = None
    clients: int | None = None
    max_clients: int | None = None
    blocked_clients: int | None = None
    blocked: Mapping[str, int] | None = None
    aof: str | None = None
    aof_bytes: int | None = None
    last_save_ms: int | None = None
    last_save_ok: bool | None = None
    replicas: tuple[ReplicaFigures, ...] | None = None
    primary: str | None = None
    primary_link_up: bool | None = None
    primary_silent_s: int | None = None
    databases: Mapping[int, int] = field(default_factory=dict)
    latency: Mapping[str, LatencyFigures] = field(default_factory=dict)
    slow: tuple[SlowRequest, ...] = ()
    hot_keys: tuple[HotKey, ...] = ()
    client_list: tuple[ClientFigures, ...] | None = None
    error: str | None = None
    refused: Mapping[str, str] = field(default_factory=dict)


def plain(value: object) -> Any:
    """Convert dataclasses to dicts, tuples to lists, bytes to text or base64."""
    if isinstance(value, bytes):
        return to_json(value)
    if is_dataclass(value):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return round(value, 3) if isinstance(value, float) else value


def age_ms(entry_id: str | None, now_ms: int) -> int | None:
    """Return how long ago an ID was made; None if it is no time."""
    if entry_id is None:
        return None
    ms = int(entry_id.partition("-")[0])
    return max(now_ms - ms, 0) if LEAST_TIME_MS <= ms <= now_ms + FUTURE_MS else None
