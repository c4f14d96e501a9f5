"""Everything that a server shows of its data, as plain values that two servers can be compared by.

Left out, because no file contains it or because it is specific to the server:

* idle times: they are counted from now. The delivery time and the consumer's seen-time, from
  which they are counted, are in XINFO STREAM FULL;
* a consumer's active-time: Redis 7.0 does not have it (snapshots of type 21 and later do);
* radix-tree-nodes: how a server keeps its nodes in memory;
* what Redis 8 added to XINFO (idmp-*, iids-*, pids-*, nacked-count) where it says "nothing":
  Redis 7.0 has no such fields.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from tests.crash.observation import Ask, as_map


# What shows all of a value, by type; streams take several questions.
def hash_fields(ask: Ask, key: bytes) -> Any:
    """Fields with values; in their order where it is that of a listpack."""
    words = ask("HGETALL", key)
    pairs = [list(pair) for pair in zip(words[::2], words[1::2], strict=True)]
    return pairs if ask("OBJECT", "ENCODING", key) == b"listpack" else sorted(pairs)


SHOWN_BY: dict[bytes, Callable[[Ask, bytes], Any]] = {
    b"string": lambda ask, key: ask("GET", key),
    b"list": lambda ask, key: ask("LRANGE", key, 0, -1),
    b"hash": hash_fields,
    b"set": lambda ask, key: sorted(ask("SMEMBERS", key)),
    b"zset": lambda ask, key: scored(ask("ZRANGE", key, 0, -1, "WITHSCORES")),
}


def scored(words: list[bytes]) -> list[tuple[bytes, float]]:
    """Members and scores, which Redis 7.0 prints with other digits."""
    return [(member, float(score)) for member, score in zip(words[::2], words[1::2], strict=True)]


View: TypeAlias = dict[Any, Any]

DATABASES = (0, 5, 15)
MODERN_FIELDS = (b"idmp-duration", b"idmp-maxsize", b"pids-tracked", b"iids-tracked",
                 b"iids-added", b"iids-duplicates")  # fmt: skip


def view(ask: Ask, *, modern: bool = False, seen_times: bool = True, lag: bool = True) -> View:
    """By database and key.

    modern: with what only Redis 8 has. seen_times: False where the data came as requests, which do
    not carry them. lag: False between servers of different versions, which reckon it differently
    in some states; what it is reckoned from is compared, but entries read beyond those that were
    added are taken as those: a Redis before 8.2.1 has such numbers.
    """
    found: View = {}
    for db in DATABASES:
        ask("SELECT", db)
        for key in sorted(ask("KEYS", "*")):
            found[db, key] = {
                "expires": ask("PEXPIRETIME", key),
                "type": ask("TYPE", key),
                "value": value(ask, key, modern, seen_times, lag),
            }
    return found


def value(ask: Ask, key: bytes, modern: bool, seen_times: bool, lag: bool) -> Any:
    kind = ask("TYPE", key)
    if kind in SHOWN_BY:
        return SHOWN_BY[kind](ask, key)
    full = as_map(ask("XINFO", "STREAM", key, "FULL", "COUNT", 0))
    del full[b"radix-tree-nodes"], full[b"radix-tree-keys"]
    for name in MODERN_FIELDS:
        if not modern:
            full.pop(name, None)
    full[b"groups"] = {
        row[b"name"]: group(row, modern, seen_times, lag) for row in map(as_map, full[b"groups"])
    }
    for row in full[b"groups"].values() if not lag else ():
        if row[b"entries-read"] is not None:
            row[b"entries-read"] = min(row[b"entries-read"], full[b"entries-added"])
    shown = {"full": full, "range": ask("XRANGE", key, "-", "+"), "length": ask("XLEN", key)}
    for name in full[b"groups"]:
        shown[f"pending of {name!r}"] = ask("XPENDING", key, name)
        extended = ask("XPENDING", key, name, "-", "+", 100_000)
        shown[f"pending entries of {name!r}"] = [[e[0], e[1], e[3]] for e in extended]
        rows = map(as_map, ask("XINFO", "CONSUMERS", key, name))
        shown[f"consumers of {name!r}"] = [[row[b"name"], row[b"pending"]] for row in rows]
    return shown


def group(row: dict[bytes, Any], modern: bool, seen_times: bool, lag: bool) -> dict[bytes, Any]:
    if not lag:
        del row[b"lag"]
    if not modern:
        row.pop(b"nacked-count", None)
    consumers = list(map(as_map, row[b"consumers"]))
    for consumer in consumers:
        if not modern:
            consumer.pop(b"active-time", None)
        if not seen_times:
            del consumer[b"seen-time"]
            consumer.pop(b"active-time", None)
    row[b"consumers"] = consumers
    return row


def differences(first: View, second: View, path: str = "") -> list[str]:
    """Where two views differ, in words."""
    if type(first) is not type(second):
        return [f"{path}: {first!r}"[:300] + f" and {second!r}"[:300]]
    if isinstance(first, dict):
        texts = []
        for name in sorted(first.keys() | second.keys(), key=repr):
            if name not in first or name not in second:
                texts.append(f"{path}/{name}: only in the {'first' if name in first else 'second'}")
            else:
                texts += differences(first[name], second[name], f"{path}/{name}")
        return texts
    if isinstance(first, list) and len(first) == len(second):
        pairs = enumerate(zip(first, second, strict=True))
        return [text for i, (a, b) in pairs for text in differences(a, b, f"{path}[{i}]")]
    return [] if first == second else [f"{path}: {first!r}"[:300] + f" and {second!r}"[:300]]
