"""Replies as Python values, for tests that look at what a reply says rather than at its bytes.

Also a shorter way to a server with directives.
"""

from __future__ import annotations

from typing import Any

import hiredis

from server.inprocess.server import InProcessServer


def decode(reply: bytes) -> Any:
    """The one reply in `reply`; strings stay bytes."""
    reader = hiredis.Reader()
    reader.feed(reply)
    value = reader.gets()
    assert value is not False, "the reply is not whole"
    assert reader.gets() is False, "more than one reply"
    return value


def pairs(flat: list[Any]) -> dict[Any, Any]:
    """A RESP2 map: keys and values alternate."""
    return dict(zip(flat[::2], flat[1::2], strict=True))


def info_fields(reply: bytes) -> dict[str, str]:
    """The fields of INFO, headings left out."""
    lines = decode(reply).decode().split("\r\n")
    return dict(line.split(":", 1) for line in lines if line and not line.startswith("#"))


def server_with(**directives: str) -> InProcessServer:
    """A server with directives by their attribute names: server_with(slowlog_max_len="3")."""
    named = {name.replace("_", "-"): text for name, text in directives.items()}
    return InProcessServer(now_ms=1_700_000_000_000, seed=0, **named)
