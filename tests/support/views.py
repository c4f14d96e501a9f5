"""What a client can see of a server's data, and what replication carries of it.

Not compared: when consumers were last seen or active, which is each server's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

Execute: TypeAlias = Callable[..., Any]

GROUP_FIELDS = (b"name", b"last-delivered-id", b"entries-read", b"pel-count", b"pending")
STREAM_FIELDS = (b"length", b"last-generated-id", b"max-deleted-entry-id", b"entries-added")
PENDING = ("-", "+", 1000)


def view(execute: Execute, key: bytes, *, told: bool = True) -> Any:
    """A key as a value that can be compared; `execute` runs a command and decodes its reply.

    `told`: a Redis 7.0 does not tell its replicas how many entries a group has read, nor of a
    consumer that was made by a read which found nothing.
    """
    kind = execute("TYPE", key)
    kind = kind if isinstance(kind, bytes) else str(kind).encode()
    return kind, execute("PEXPIRETIME", key), _value(execute, kind, key, told)


def _value(execute: Execute, kind: bytes, key: bytes, told: bool) -> Any:
    if kind == b"stream":
        return _stream(execute, key, told)
    if kind == b"set":
        return sorted(execute("SMEMBERS", key))
    if kind == b"hash":
        return pairs(execute("HGETALL", key))
    if kind == b"zset":
        flat = execute("ZRANGE", key, 0, -1, "WITHSCORES")
        return [(name, float(score)) for name, score in pairs(flat).items()]
    if kind == b"list":
        return execute("LRANGE", key, 0, -1)
    value: bytes = execute("GET", key)
    # The count that a HyperLogLog remembers is worked out again where it is asked for.
    return value[:8] + value[16:] if value.startswith(b"HYLL") else value


def _stream(execute: Execute, key: bytes, told: bool) -> Any:
    full = pairs(execute("XINFO", "STREAM", key, "FULL", "COUNT", 0))
    groups = []
    for group in full[b"groups"]:
        fields = pairs(group)
        consumers = [pairs(consumer) for consumer in fields[b"consumers"]]
        held = {
            c[b"name"]: (c[b"pel-count"], c[b"pending"])
            for c in consumers
            if told or c[b"pel-count"]
        }
        kept = [fields[name] for name in GROUP_FIELDS if told or name != b"entries-read"]
        # Counts and owners; idle times differ by when they are asked for.
        pending = [row[:2] + row[3:] for row in execute("XPENDING", key, fields[b"name"], *PENDING)]
        groups.append((kept, held, pending))
    return [full[name] for name in STREAM_FIELDS], groups, execute("XRANGE", key, "-", "+")


def pairs(flat: Any) -> dict[bytes, Any]:
    """A map as RESP2 has it, or as redis-py has made one of it."""
    if isinstance(flat, dict):
        return flat
    return dict(zip(flat[::2], flat[1::2], strict=True))


def reads_history(argv: list[bytes]) -> bool:
    """Such a read changes counts and times on the primary alone, as in Redis."""
    words = [word.upper() for word in argv]
    if words[0] != b"XREADGROUP" or b"STREAMS" not in words:
        return False
    behind = argv[words.index(b"STREAMS") + 1 :]
    return any(word != b">" for word in behind[len(behind) // 2 :])
