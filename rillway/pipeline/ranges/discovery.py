"""Finds the streams that a query reads, by name or by pattern."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Protocol

from rillway.pipeline.ranges.loss import LOG_PREFIX, log
from rillway.pipeline.wire.connection import Connection, ServerError
from rillway.pipeline.wire.facts import all_facts
from rillway.pipeline.wire.urls import public_url

SCAN_COUNT = 1000


class StreamMissing(Exception):
    """A named stream does not exist, and is probably misspelt; or the key is no stream."""


class Selection(Protocol):
    """The options by which streams are chosen."""

    @property
    def streams(self) -> tuple[str, ...]: ...

    @property
    def pattern(self) -> str | None: ...

    @property
    def fail_if_missing(self) -> bool: ...


def streams_to_read(
    connection: Connection, chosen: Selection, *, one_is_enough: bool = False
) -> list[str]:
    """Return the streams to read. Raises StreamMissing unless missing ones are allowed.

    `one_is_enough`: one existing stream suffices: a partition exists from its first entry on.
    """
    if chosen.fail_if_missing:
        remedy = "option failIfMissing=false reads it once it exists"
        names = chosen.streams
        if one_is_enough:
            facts = all_facts(connection, names)
            names = tuple(name for name in names if not facts[name].is_missing) or names[:1]
        check_there(connection, *names, remedy=remedy)
    return find_streams(connection, chosen.streams, chosen.pattern)


def check_there(
    connection: Connection, *names: str, remedy: str = "--allow-missing continues without it"
) -> None:
    """Check that streams exist. Raises StreamMissing, with `remedy` as advice, and ServerError."""
    check_kinds(connection, kinds_of(connection, names), remedy)


def check_kinds(connection: Connection, kinds: Mapping[str, str], remedy: str) -> None:
    """Check that keys are streams. Raises StreamMissing. `kinds`: the replies to TYPE by key."""
    where = public_url(connection.url)
    missing = [name for name, kind in kinds.items() if kind == "none"]
    if missing:
        hint = f" ({remedy})" if remedy else ""
        raise StreamMissing(f"there is no stream {', '.join(missing)} at {where}{hint}")
    for name, kind in kinds.items():
        if kind != "stream":
            raise StreamMissing(f"{name} at {where} is no stream: its type is {kind}")


def none_fits(url: str, pattern: str) -> str:
    """Return the message for a pattern that matches nothing."""
    return f"no stream at {public_url(url)} fits {pattern}"


def kinds_of(connection: Connection, names: Sequence[str]) -> dict[str, str]:
    """Return the replies to TYPE of keys; `none` for a missing one. Raises ServerError."""
    replies = connection.call_all([("TYPE", name) for name in names])
    for reply in replies:
        if isinstance(reply, ServerError):
            raise reply
    return {name: kind.decode() for name, kind in zip(names, replies, strict=True)}


def find_streams(connection: Connection, names: tuple[str, ...], pattern: str | None) -> list[str]:
    """Return the names in order, then others that match a pattern, a glob as in KEYS.

    SCAN does not block the server.
    """
    found = [] if pattern is None else sorted(_matching(connection, pattern))
    return list(dict.fromkeys([*names, *found]))


@lru_cache(maxsize=1000)
def glob(pattern: str) -> re.Pattern[str]:
    """Compile a glob of the server: `*`, `?`, `[a-c]`, `[^x]`, and `\\` to escape."""
    parts = re.findall(r"\\.|\[\^?(?:\\.|[^\]])*\]|.", pattern, re.DOTALL)
    found = []
    for part in parts:
        if part in ("*", "?"):
            found.append(".*" if part == "*" else ".")
        elif len(part) > 2 and part[0] == "[":
            inner = part[1:-1].replace("\\", "\\\\").replace("[", "\\[")
            found.append(f"[{inner}]")
        else:
            found.append(re.escape(part[-1]))
    return re.compile("".join(found), re.DOTALL)


def _matching(connection: Connection, pattern: str) -> set[str]:
    keys: set[bytes] = set()
    nodes = connection.nodes()
    # Twice in a cluster: a key may move to another node during the scan.
    for node in nodes * min(len(nodes), 2):
        keys |= _scanned(node, pattern)
    found: set[str] = set()
    for key in keys:
        try:
            found.add(key.decode())
        except UnicodeDecodeError:
            log.warning("%sleft out, its name is not UTF-8: %r", LOG_PREFIX, key)
    return found


def _scanned(node: Connection, pattern: str) -> set[bytes]:
    found: set[bytes] = set()
    cursor = b"0"
    while True:
        request = ("SCAN", cursor, "MATCH", pattern, "COUNT", SCAN_COUNT, "TYPE", "stream")
        cursor, keys = node.call(*request)
        found.update(keys)
        if cursor == b"0":
            return found
