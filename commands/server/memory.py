"""MEMORY USAGE, STATS, DOCTOR, PURGE, HELP; the figures of INFO memory.

"Used" is a count (commands/eviction/eviction.py); "resident" is what the system has given the
process.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from commands.connection.client_memory import ClientMemory, MemoryUse
from commands.core.arguments import Arguments
from commands.core.client import Client, Clients
from commands.core.instance import Instance
from commands.core.registry import LOADING, READONLY, STALE, command, one_key
from commands.documentation import help_reply
from commands.eviction.eviction import scripting_figures, update_memory_use
from commands.keys.objects import value_bytes
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import frozen_record
from protocol.request import Request
from storage.keyspace.database import Database


@frozen_record
class MemoryFigures:
    """Bytes, all of them."""

    used: int
    resident: int
    peak: int
    peak_ms: int  # when it was reached, the one figure that is no size
    startup: int
    clients: int  # in the buffers of clients
    keys: int  # how many keys, in all databases
    total_system: int

    @property
    def overhead(self) -> int:
        """The memory that is not data: the empty server, and buffers."""
        return min(self.used, self.startup + self.clients)

    @property
    def dataset(self) -> int:
        """The memory that is left for the data."""
        return self.used - self.overhead

    @property
    def dataset_percentage(self) -> float:
        """The data's share of what was added since the start."""
        return percentage(self.dataset, self.used - self.startup)

    @property
    def bytes_per_key(self) -> int:
        """The memory added since the start, for each key."""
        return max(0, self.used - self.startup) // self.keys if self.keys else 0

    @property
    def peak_percentage(self) -> float:
        """The memory in use, in percent of the peak."""
        return percentage(self.used, self.peak)


def memory_figures(instance: Instance) -> MemoryFigures:
    """The figures now."""
    facts = instance.host.facts()
    memory, clients = instance.feature(MemoryUse), instance.feature(ClientMemory)
    used = update_memory_use(instance)
    return MemoryFigures(
        used=used,
        resident=facts.resident_bytes,
        peak=memory.peak_bytes,
        peak_ms=memory.peak_ms,
        startup=memory.startup_bytes,
        clients=clients.total_bytes - clients.replica_bytes,
        keys=sum(map(len, instance.databases)),
        total_system=facts.total_system_bytes,
    )


def percentage(part: int, whole: int) -> float:
    """`part` in percent of `whole`; 0 of nothing."""
    return 100 * part / whole if whole > 0 else 0.0


def human(size: int) -> str:
    """`size` in bytes as INFO writes it for people: 512B, 1.50K, 12.00M, 3.25G."""
    if size < 1024:
        return f"{size}B"
    scaled, units = size / 1024, "KMGTP"
    while scaled >= 1024 and len(units) > 1:
        scaled, units = scaled / 1024, units[1:]
    return f"{scaled:.2f}{units[0]}"


Figure: TypeAlias = "int | float | Database"

MEBIBYTE = 1024 * 1024
# Below this the figures are mostly those of the Python runtime.
WORTH_A_LOOK_BYTES = 5 * MEBIBYTE


@command("MEMORY USAGE", arity=-3, flags=READONLY, keys=one_key(b"RO", at=2))
def memory_usage(client: Client, argv: Request) -> bytes:
    """Bytes, or null. The key's access time stays as it is.

    The figure is exact: the number of SAMPLES is checked, and has no effect.
    """
    arguments = Arguments(argv, 3)
    while arguments:
        if not arguments.take(b"SAMPLES"):
            arguments.finish()
        if arguments.next_int() < 0:
            raise ReplyError(errors.SYNTAX)
    db, key = client.db, argv[2]
    value = db.get(key)
    if value is None or db.is_expired(key, client.instance.now_ms):
        return replies.NIL[client.resp]
    return replies.integer(value_bytes(key, value))


# A database that holds keys.
_DATABASE = {
    resp: replies.Form(
        replies.map_header(2, resp).replace(b"%", b"%%")
        + replies.bulk(b"overhead.hashtable.main")
        + b":%d\r\n"
        + replies.bulk(b"overhead.hashtable.expires")
        + b":%d\r\n"
    )
    for resp in (2, 3)
}


@command("MEMORY STATS", arity=2)
def memory_stats(client: Client, argv: Request) -> bytes:
    """A map; the databases that hold keys are maps in it."""
    items: list[bytes] = []
    for name, value in _figures(client.instance):
        items += [replies.bulk(name), _encode(value, client.resp)]
    return replies.mapping(items, client.resp)


def _encode(figure: Figure, resp: int) -> bytes:
    if isinstance(figure, Database):
        return _DATABASE[resp].fill((figure.values.index_bytes(), figure.expires.memory_bytes()))
    if isinstance(figure, float):
        return replies.double(figure, resp)
    return replies.integer(figure)


def _figures(instance: Instance) -> Iterator[tuple[bytes, Figure]]:
    """Names of Redis 8.2, in its order."""
    figures = memory_figures(instance)
    backlog, scripting = instance.replication.backlog, scripting_figures(instance)
    yield b"peak.allocated", figures.peak
    yield b"total.allocated", figures.used
    yield b"startup.allocated", figures.startup
    yield b"replication.backlog", 0 if backlog is None else backlog.length
    yield b"replica.fullsync.buffer", 0
    yield b"clients.slaves", instance.feature(ClientMemory).replica_bytes
    yield b"clients.normal", figures.clients
    yield b"cluster.links", 0
    yield b"aof.buffer", instance.persistence.buffer_bytes
    yield b"lua.caches", scripting.script_bytes
    yield b"functions.caches", scripting.library_bytes
    yield b"script.VMs", scripting.eval_bytes + scripting.function_bytes
    for db in instance.databases:
        if db.values:
            yield b"db.%d" % db.index, db
    yield b"overhead.db.hashtable.lut", 0  # part of the tables above
    yield b"overhead.db.hashtable.rehashing", 0
    yield b"overhead.total", figures.overhead
    yield b"db.dict.rehashing.count", 0
    yield b"keys.count", figures.keys
    yield b"keys.bytes-per-key", figures.bytes_per_key
    yield b"dataset.bytes", figures.dataset
    yield b"dataset.percentage", figures.dataset_percentage
    yield b"peak.percentage", figures.peak_percentage
    yield b"allocator.allocated", figures.used
    yield b"allocator.active", figures.used
    yield b"allocator.resident", figures.resident
    yield b"allocator.muzzy", 0
    yield b"allocator-fragmentation.ratio", 1.0
    yield b"allocator-fragmentation.bytes", 0
    yield b"allocator-rss.ratio", 1.0
    yield b"allocator-rss.bytes", 0
    yield b"rss-overhead.ratio", 1.0
    yield b"rss-overhead.bytes", 0
    yield b"fragmentation", figures.resident / max(figures.used, 1)
    yield b"fragmentation.bytes", figures.resident - figures.used


@command("MEMORY DOCTOR", arity=2)
def memory_doctor(client: Client, argv: Request) -> bytes:
    """A text for people."""
    text = report(memory_figures(client.instance), len(client.instance.feature(Clients).by_id))
    return replies.verbatim(text.encode(), client.resp)


def report(figures: MemoryFigures, clients: int) -> str:
    """Return the text of MEMORY DOCTOR: what the figures show, with advice."""
    if figures.used - figures.startup < WORTH_A_LOOK_BYTES:
        return (
            "There is hardly any data: the figures are those of the empty server. Ask again when\n"
            "there is more.\n"
        )
    findings = []
    if figures.peak > 1.5 * figures.used:
        findings.append(
            f"- At its peak the process occupied {human(figures.peak)}, now {human(figures.used)}."
            " It may need as much again."
        )
    if figures.used > 0.8 * figures.total_system:
        findings.append(
            f"- The process occupies {human(figures.used)} of the machine's"
            f" {human(figures.total_system)}. Trim streams (XTRIM, XADD MAXLEN), or move."
        )
    if clients and figures.clients // clients > MEBIBYTE:
        findings.append(
            f"- Clients have {human(figures.clients)} in their buffers. Some read too slowly or"
            " ask for too much at once: see CLIENT LIST, fields omem and qbuf."
        )
    if not findings:
        return "Nothing stands out in the use of memory.\n"
    return "\n".join(["This stands out in the use of memory:", "", *findings]) + "\n"


@command("MEMORY PURGE", arity=2)
def memory_purge(client: Client, argv: Request) -> bytes:
    """OK. The allocator returns what it can; nodes that were opened for readers are closed."""
    client.instance.entry_cache.clear()
    client.instance.host.purge_memory()
    return replies.OK


@command("MEMORY HELP", arity=2, flags=LOADING | STALE)
def memory_help(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2, for the shape."""
    return help_reply(
        b"MEMORY",
        b"DOCTOR",
        b"    What stands out in the use of memory, in words.",
        b"PURGE",
        b"    Give unused memory back to the operating system.",
        b"STATS",
        b"    Where the memory is, in figures.",
        b"USAGE <key> [SAMPLES <count>]",
        b"    An estimate of the bytes that a key occupies. Of a stream up to <count> nodes are",
        b"    looked at (default: 5, 0: all).",
    )
