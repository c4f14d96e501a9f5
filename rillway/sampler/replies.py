"""Converts unprocessed replies of RESP2 and RESP3 to values."""

from __future__ import annotations

from typing import Any, TypeAlias

# Nested lists (or dicts) of bytes and ints; an error reply is an exception.
Reply: TypeAlias = Any
Words: TypeAlias = tuple[bytes | str | int, ...]


def is_error(reply: Reply) -> bool:
    return isinstance(reply, Exception)


def is_refusal(error: Reply) -> bool:
    """Return True if the command is unknown, or not allowed for this user."""
    text = str(error)
    return is_forbidden(error) or "nknown" in text or "syntax" in text


def is_forbidden(error: Reply) -> bool:
    """Return True if the command is not allowed for this user."""
    text = str(error)
    return "NOPERM" in text or "permission" in text


def has_no_policies(reply: Reply) -> bool:
    """Return True if the server does not know XINFO POLICY, or this user may not send it."""
    return is_error(reply) and is_refusal(reply) and "access" not in str(reply)


def is_missing(error: Reply) -> bool:
    """Return True if the key was deleted, or has another type now."""
    return "no such key" in str(error) or "WRONGTYPE" in str(error)


def as_map(reply: Reply) -> dict[bytes, Reply]:
    """Return a map, which is a flat list of names and values in RESP2."""
    if isinstance(reply, dict):
        return reply
    return dict(zip(reply[::2], reply[1::2], strict=True))


def known_lag(info: dict[bytes, Reply]) -> int | None:
    """Return the lag in a group's part of the reply to XINFO GROUPS; None if unknown.

    A negative lag, which Redis 8.2 reports after XSETID, counts as unknown.
    """
    lag: int | None = info.get(b"lag")
    return None if lag is None or lag < 0 else lag


def text_map(reply: Reply) -> dict[str, str | int | list[int]]:
    """Return a map of texts, numbers, and lists of numbers."""
    return {
        as_text(name): value if isinstance(value, int | list) else as_text(value)
        for name, value in as_map(reply).items()
    }


def as_text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode(errors="backslashreplace")


def optional_text(value: bytes | str | None) -> str | None:
    return None if value is None else as_text(value)


def time_us(reply: Reply) -> int:
    """Return the reply to TIME as Unix µs."""
    return int(reply[0]) * 1_000_000 + int(reply[1])


def info_fields(reply: Reply) -> dict[str, str]:
    """Return the fields of INFO by name."""
    lines = as_text(reply).splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line and not line.startswith("#"))


def pairs(text: str, separator: str) -> dict[str, str]:
    """Parse `keys=1,expires=0` and `id=3 addr=...` to dicts."""
    return dict(one.split("=", 1) for one in text.split(separator) if "=" in one)


def entry_bytes(entry: Reply) -> int:
    """Return the approximate bytes of an entry's fields in a reply; 0 for none."""
    return sum(map(len, entry[1])) if entry and entry[1] else 0


def percentile_us(buckets: dict[int, int], calls: int, share: float) -> int | None:
    """Return the bound of the bucket of LATENCY HISTOGRAM that includes a share of the calls."""
    wanted = calls * share
    return next((bound for bound, count in sorted(buckets.items()) if count >= wanted), None)
