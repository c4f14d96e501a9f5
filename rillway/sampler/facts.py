"""The server's own figures: INFO section by section, clients, slow log, latency.

Each request has its interval. One that the server refuses, by its version or for this user, is
tried again after a minute; the figures stay unknown, and `refused` says why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from rillway.sampler.figures import (
    ClientFigures,
    HotKey,
    LatencyFigures,
    ReplicaFigures,
    ServerFigures,
    SlowRequest,
)
from rillway.sampler.replies import (
    Reply,
    Words,
    as_map,
    as_text,
    info_fields,
    is_error,
    is_refusal,
    pairs,
    percentile_us,
)

AGAIN_S = 60.0
# CLIENT LIST takes the server time for each client.
MOST_CLIENTS_LISTED = 1000
HISTOGRAM: Words = ("LATENCY", "HISTOGRAM", "XADD", "XREADGROUP", "XACK")
# Few servers have it, and few users may send it: that is no news.
HOT_KEYS: Words = ("HOTKEYS", "GET")
LATEST: Words = ("LATENCY", "LATEST")


@dataclass(slots=True)
class Fact:
    """A request that is sent at intervals, and the function for its reply."""

    words: Words
    every_s: float
    take: Callable[[Reply], None]
    due_s: float = float("-inf")


class ServerFacts:
    """Collects the server's figures; `figures` has those known so far."""

    def __init__(self) -> None:
        self.figures = ServerFigures()
        # INFO server is requested rarely: meanwhile the uptime is computed from the server's clock.
        self._started_ms: int | None = None
        self._facts = [
            Fact(("INFO", "server"), 10, self._server),
            Fact(("INFO", "clients"), 1, self._clients),
            Fact(("INFO", "memory"), 1, self._memory),
            Fact(("INFO", "stats"), 1, self._stats),
            Fact(("INFO", "replication"), 2, self._replication),
            Fact(("INFO", "persistence"), 5, self._persistence),
            Fact(("INFO", "keyspace"), 5, self._keyspace),
            Fact(("CLIENT", "LIST"), 2, self._client_list),
            Fact(("SLOWLOG", "GET", 10), 5, self._slow),
            Fact(HISTOGRAM, 5, self._histogram),
            Fact(HOT_KEYS, 5, self._hot_keys),
        ]

    def due(self, now_s: float) -> Iterator[Fact]:
        """Yield the facts that are due; each is due again after its interval."""
        for fact in self._facts:
            if now_s < fact.due_s or (fact.words[0] == "CLIENT" and self._has_many_clients):
                continue
            fact.due_s = now_s + fact.every_s
            yield fact

    def wait_s(self, now_s: float) -> float:
        return max(min(fact.due_s for fact in self._facts) - now_s, 0.0)

    def refresh(self) -> None:
        """Make all facts due."""
        for fact in self._facts:
            fact.due_s = float("-inf")

    def accept(self, fact: Fact, reply: Reply, now_s: float, time_ms: int) -> None:
        """Take a reply, or note that there is none."""
        if self._started_ms is not None:
            self._set(uptime_s=(time_ms - self._started_ms) // 1000)
        self._set(time_ms=time_ms)
        if not is_error(reply):
            fact.take(reply)
            if str(fact.words[0]) in self.figures.refused:
                kept = dict(self.figures.refused)
                del kept[str(fact.words[0])]
                self._set(refused=kept)
        elif fact.words == HISTOGRAM and "NOPERM" not in str(reply):
            fact.words, fact.take, fact.due_s = LATEST, self._latest, float("-inf")
        elif is_refusal(reply):
            fact.due_s = now_s + AGAIN_S
            if fact.words == HOT_KEYS:
                return
            self.note_refusal(str(fact.words[0]), str(reply))
        else:
            self._set(error=str(reply))

    def note_refusal(self, command: str, reason: str) -> None:
        """Remember a command that is unknown or not allowed."""
        self._set(refused={**self.figures.refused, command: reason})

    @property
    def _has_many_clients(self) -> bool:
        many = (self.figures.clients or 0) > MOST_CLIENTS_LISTED
        if many and self.figures.client_list is not None:
            self._set(client_list=None, blocked=None)
        return many

    def _set(self, **figures: object) -> None:
        self.figures = replace(self.figures, **figures)  # type: ignore[arg-type]

    # -- INFO -------------------------------------------------------------------------------------

    def _server(self, reply: Reply) -> None:
        info = info_fields(reply)
        product, version = product_of(info)
        uptime_s = _number(info, "uptime_in_seconds")
        is_node = info.get("redis_mode") == "cluster"
        self._set(
            product=product,
            version=version,
            is_cluster_node=is_node,
            uptime_s=uptime_s,
            error=None,
        )
        self._started_ms = None if uptime_s is None else self.figures.time_ms - uptime_s * 1000

    def _clients(self, reply: Reply) -> None:
        info = info_fields(reply)
        self._set(
            clients=_number(info, "connected_clients"),
            max_clients=_number(info, "maxclients"),
            blocked_clients=_number(info, "blocked_clients"),
        )

    def _memory(self, reply: Reply) -> None:
        info = info_fields(reply)
        used, limit = _number(info, "used_memory"), _number(info, "maxmemory")
        self._set(used_memory_bytes=used, max_memory_bytes=limit or None)

    def _stats(self, reply: Reply) -> None:
        self._set(requests_per_s=_number(info_fields(reply), "instantaneous_ops_per_sec"))

    def _replication(self, reply: Reply) -> None:
        info = info_fields(reply)
        is_replica = info.get("role") == "slave"
        lines = [pairs(value, ",") for name, value in info.items() if _is_replica_line(name)]
        self._set(
            role="replica" if is_replica else "primary",
            replicas=tuple(
                ReplicaFigures(
                    f"{line.get('ip', '?')}:{line.get('port', '?')}",
                    line.get("state", "?"),
                    _number(line, "lag"),
                )
                for line in lines
            ),
            primary=f"{info['master_host']}:{info['master_port']}" if is_replica else None,
            primary_link_up=info.get("master_link_status") == "up" if is_replica else None,
            primary_silent_s=_number(info, "master_last_io_seconds_ago"),
        )

    def _persistence(self, reply: Reply) -> None:
        info = info_fields(reply)
        saved_s = _number(info, "rdb_last_save_time")
        self._set(
            aof=_aof_state(info),
            aof_bytes=_number(info, "aof_current_size"),
            last_save_ms=None if saved_s is None else saved_s * 1000,
            last_save_ok=info.get("rdb_last_bgsave_status", "ok") == "ok",
        )

    def _keyspace(self, reply: Reply) -> None:
        found = {
            int(name[2:]): int(pairs(value, ",").get("keys", 0))
            for name, value in info_fields(reply).items()
            if name.startswith("db") and name[2:].isdecimal()
        }
        self._set(databases=found)

    # -- others -----------------------------------------------------------------------------------

    def _client_list(self, reply: Reply) -> None:
        clients = tuple(map(_client, as_text(reply).splitlines()))
        blocked = Counter(one.command.upper() for one in clients if "b" in one.flags)
        self._set(client_list=clients, blocked=dict(blocked.most_common()))

    def _slow(self, reply: Reply) -> None:
        self._set(slow=tuple(map(_slow_request, reply)))

    def _hot_keys(self, reply: Reply) -> None:
        found = as_map(reply[0]) if reply else {}
        took = _sums(found.get(b"by-cpu-time-us", ()))
        sizes = _sums(found.get(b"by-net-bytes", ()))
        names = dict.fromkeys([*took, *sizes])
        self._set(hot_keys=tuple(HotKey(name, took.get(name), sizes.get(name)) for name in names))

    def _histogram(self, reply: Reply) -> None:
        found = {}
        for name, figures in as_map(reply).items():
            known = as_map(figures)
            calls, buckets = known[b"calls"], as_map(known[b"histogram_usec"])
            counts = {int(bound): int(count) for bound, count in buckets.items()}
            found[as_text(name).upper()] = LatencyFigures(
                calls,
                percentile_us(counts, calls, 0.5),
                percentile_us(counts, calls, 0.99),
                percentile_us(counts, calls, 0.999),
                max(counts, default=None),
            )
        self._set(latency=found)

    def _latest(self, reply: Reply) -> None:
        found = {as_text(event[0]): LatencyFigures(None, max_us=event[3] * 1000) for event in reply}
        self._set(latency=found)


def product_of(info: dict[str, str]) -> tuple[str, str]:
    """Return the product and its version."""
    for product in ("Rillway", "Valkey", "Dragonfly"):
        version = info.get(f"{product.lower()}_version")
        if version is not None:
            return product, version
    return "Redis", info.get("redis_version", "")


def _sums(flat: Reply) -> dict[bytes, int]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _number(info: dict[str, str], name: str) -> int | None:
    text = info.get(name, "")
    return int(text) if text.lstrip("-").isdecimal() else None


def _is_replica_line(name: str) -> bool:
    return name.startswith("slave") and name[5:].isdecimal()


def _aof_state(info: dict[str, str]) -> str:
    if info.get("aof_enabled", "0") == "0":
        return "off"
    if info.get("aof_last_write_status", "ok") != "ok":
        return "err"
    return "rewriting" if info.get("aof_rewrite_in_progress") == "1" else "ok"


def _client(line: str) -> ClientFigures:
    known = pairs(line, " ")
    return ClientFigures(
        id=_number(known, "id") or 0,
        address=known.get("addr", ""),
        name=known.get("name", ""),
        db=_number(known, "db") or 0,
        age_s=_number(known, "age") or 0,
        idle_s=_number(known, "idle") or 0,
        flags=known.get("flags", ""),
        command=known.get("cmd", ""),
        user=known.get("user", ""),
        memory_bytes=_number(known, "tot-mem"),
    )


def _slow_request(reply: Reply) -> SlowRequest:
    number, at_s, took_us, words, *client = reply
    return SlowRequest(number, at_s * 1000, took_us, tuple(words), *map(as_text, client[:2]))
