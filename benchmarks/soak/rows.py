"""The rows of the soak, and their bounds of memory: those of docs/how-to/security.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.soak import abuses
from benchmarks.soak.abuses import MB, Outcome, Target
from benchmarks.soak.measurement import AFTER_BYTES, Measured

# The others' p99.9 may be twice redis-server's, or this, whichever is more.
WAIT_MS = 10.0
REDIS_TIMES = 2.0
# Clients without the password: the longest wait of the others in ms, or as a multiple of
# redis-server's; and the others' p99 while such clients connect again and again.
STRANGERS_MS = 50.0
STRANGERS_TIMES = 1.3
RECONNECTING_P99_MS = 8.0
# What the process may grow by in any row, beside what the row is about.
ROOM_BYTES = 40 * MB
FULL = 1.0


@dataclass(frozen=True)
class Row:
    """One kind of abuse. At full scale the server may grow by `peak_bytes`, and ROOM_BYTES.

    The others' longest wait and p99 have a bound where `longest_ms` and `p99_ms` are not 0.
    """

    name: str
    abuse: Callable[[Target], Outcome]
    peak_bytes: int = 0
    each_bytes: int = 0  # of a connection; 0: they are not counted
    kept_bytes: int = AFTER_BYTES
    longest_ms: float = 0.0
    p99_ms: float = 0.0


ROWS = (
    Row("unread-replies", abuses.unread_replies),
    # The entries, and once more in the cache of unpacked entries, which ages.
    Row(
        "unread-ranges",
        abuses.unread_ranges,
        2 * abuses.RANGES_BYTES,
        kept_bytes=abuses.RANGES_BYTES + ROOM_BYTES,
    ),
    Row("unread-messages", abuses.unread_messages, abuses.HARD_BYTES),
    Row("unread-messages-soft", abuses.unread_few_messages),
    Row("slow-requests", abuses.slow_requests),
    Row("idle-connections", abuses.idle_connections, abuses.CONNECTIONS * 6_000, 6_000),
    # What OpenSSL frees leaves gaps between what lives; the next connections use them again.
    Row(
        "idle-tls",
        abuses.idle_encrypted_connections,
        abuses.CONNECTIONS * 30_000,
        30_000,
        kept_bytes=ROOM_BYTES,
    ),
    Row("tls-handshakes", abuses.handshakes),
    Row("large-value", abuses.large_value, abuses.LARGE_BYTES),
    Row("strangers", abuses.strangers, longest_ms=STRANGERS_MS),
    Row("strangers-again", abuses.reconnecting_strangers, p99_ms=RECONNECTING_P99_MS),
)


def misses(row: Row, ours: Measured, theirs: Measured | None, scale: float) -> list[str]:
    """The bounds that Rillway does not keep, and what it did wrong.

    What others wait counts at full scale only, where there are enough requests, and a machine that
    does nothing else.
    """
    found = list(ours.failures)
    grown = ours.peak.resident - ours.before.resident
    # A limit does not shrink with the scale, nor do the entries that are read.
    is_whole = row.abuse in (abuses.unread_messages, abuses.unread_ranges)
    share = max(scale, 1.0) if is_whole else scale
    most = round(row.peak_bytes * share) + ROOM_BYTES
    if grown > most:
        found.append(f"grew by {grown // MB} MB, more than {most // MB}")
    kept = ours.after.resident - ours.before.resident
    if kept > row.kept_bytes:
        found.append(f"kept {kept // MB} MB, more than {row.kept_bytes // MB}")
    each = ours.figures.get("bytes each", 0)
    if row.each_bytes and each > row.each_bytes:
        found.append(f"{each:.0f} bytes for each connection, more than {row.each_bytes}")
    return found + (_waits(row, ours, theirs) if scale >= FULL else [])


def _waits(row: Row, ours: Measured, theirs: Measured | None) -> list[str]:
    """The bounds of what the others wait that are missed."""
    if row.longest_ms:
        most_ms = max(row.longest_ms, STRANGERS_TIMES * theirs.longest if theirs else 0)
        kind, waited_ms = "longest wait", ours.longest
    elif row.p99_ms:
        kind, waited_ms, most_ms = "p99", ours.p99, row.p99_ms
    else:
        most_ms = max(WAIT_MS, REDIS_TIMES * theirs.p999 if theirs else 0)
        kind, waited_ms = "p99.9", ours.p999
    if waited_ms <= most_ms:
        return []
    return [f"{kind} of the others {waited_ms:.1f} ms, more than {most_ms:.1f}"]
