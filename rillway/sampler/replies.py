"""Replies as values: of RESP2 and of RESP3, from any client that leaves them as they came."""

from __future__ import annotations

from typing import Any, TypeAlias

# Nested lists (or dicts) of bytes and ints; an error reply is an exception.
Reply: TypeAlias = Any
Words: TypeAlias = tuple[bytes | str | int, ...]


def is_error(reply: Reply) -> bool:
    return isinstance(reply, Exception)


def is_refusal(error: Reply) -> bool:
    """Return True if it will be refused again: no such command here, or not for this user."""
    text = str(error)
    return is_forbidden(error) or "nknown" in text or "syntax" in text


def is_forbidden(error: Reply) -> bool:
    """Return True if this user may not ask that."""
    text = str(error)
    return "NOPERM" in text or "permission" in text


def is_missing(error: Reply) -> bool:
    """Return True if the key is gone, or holds something else now."""
    return "no such key" in str(error) or "WRONGTYPE" in str(error)


def as_map(reply: Reply) -> dict[bytes, Reply]:
    """A map, which RESP2 has as a flat list of names and values."""
    if isinstance(reply, dict):
        return reply
    return dict(zip(reply[::2], reply[1::2], strict=True))


def known_lag(info: dict[bytes, Reply]) -> int | None:
    """The lag of a group by its part of XINFO GROUPS' reply; None if the server does not know it.

    A negative one, as Redis 8.2 reports after XSETID, is none: more was counted than there was.
    """
    lag: int | None = info.get(b"lag")
    return None if lag is None or lag < 0 else lag


def text_map(reply: Reply) -> dict[str, str | int]:
    """A map of texts and numbers."""
    return {
        as_text(name): value if isinstance(value, int) else as_text(value)
        for name, value in as_map(reply).items()
    }


def as_text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode(errors="backslashreplace")


def optional_text(value: bytes | str | None) -> str | None:
    return None if value is None else as_text(value)


def time_us(reply: Reply) -> int:
    """TIME's reply as Unix µs."""
    return int(reply[0]) * 1_000_000 + int(reply[1])


def info_fields(reply: Reply) -> dict[str, str]:
    """INFO's lines by name."""
    lines = as_text(reply).splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line and not line.startswith("#"))


def pairs(text: str, separator: str) -> dict[str, str]:
    """`keys=1,expires=0` and `id=3 addr=...` as dicts."""
    return dict(one.split("=", 1) for one in text.split(separator) if "=" in one)


def entry_bytes(entry: Reply) -> int:
    """How many bytes an entry's fields take in a reply, about; 0 for none."""
    return sum(map(len, entry[1])) if entry and entry[1] else 0


def percentile_us(buckets: dict[int, int], calls: int, share: float) -> int | None:
    """The bound of LATENCY HISTOGRAM's bucket in which a share of the calls has ended."""
    wanted = calls * share
    return next((bound for bound, count in sorted(buckets.items()) if count >= wanted), None)
