"""Requests as a person would type them, for the tests of the stream commands."""

from __future__ import annotations

from typing import Any

import hiredis

from server.inprocess.server import InProcessServer
from storage.append_only.requests import wrap

NOW_MS = 1_700_000_000_000


def carrier(request: str) -> str:
    """The text of the request that carries another one."""
    return b" ".join(wrap(request.encode().split())).decode()


class Talk:
    """One client of an in-process server. A request is one string, its words parted by blanks."""

    def __init__(self, server: InProcessServer, resp: int = 2) -> None:
        self.server = server
        self.client = server.connect()
        self.client.state.resp = resp

    def raw(self, request: str) -> bytes:
        """The raw reply; b"" while the client is blocked."""
        return self.client.execute(*request.split())

    def do(self, request: str) -> Any:
        """The reply as Python values; the request must not fail."""
        value = decode(self.raw(request))
        assert not isinstance(value, hiredis.ReplyError), value
        return value

    def all(self, *requests: str) -> None:
        """Several requests, none of which fails."""
        for request in requests:
            self.do(request)

    def replay(self, *requests: str) -> None:
        """Run propagated requests, as a file or a replica does; none fails."""
        self.client.state.replays = True
        for request in requests:
            name, _, text = request.partition(" ")
            words = [name, text] if name == "ECHO" else request.split()
            assert not self.client.execute(*words).startswith(b"-"), request
        self.client.state.replays = False

    def error(self, request: str) -> str:
        """The text of the error that the request must fail with."""
        value = decode(self.raw(request))
        assert isinstance(value, hiredis.ReplyError), value
        return str(value)

    def pipeline(self, *requests: str) -> bytes:
        """Several requests in one cycle of the loop; their raw replies."""
        return self.client.pipeline(*(tuple(request.split()) for request in requests))

    def received(self) -> Any:
        """What came without a request of one's own, as Python values; None if nothing did."""
        data = self.client.received()
        return decode(data) if data else None

    def ids(self, key: str) -> list[str]:
        """The IDs of a stream's entries."""
        return [entry[0].decode() for entry in self.do(f"XRANGE {key} - +")]

    def fields(self, request: str) -> dict[str, Any]:
        """A reply in RESP2 that is a flat map, by field."""
        flat = self.do(request)
        return {name.decode(): value for name, value in zip(flat[::2], flat[1::2], strict=True)}


def decode(raw: bytes) -> Any:
    """Exactly one reply as Python values."""
    reader = hiredis.Reader(notEnoughData=...)
    reader.feed(raw)
    value = reader.gets()
    assert value is not ... and not reader.has_data(), raw
    return value


def entry(entry_id: str, *fields: str) -> list[Any]:
    """An entry as XRANGE returns it, decoded."""
    return [entry_id.encode(), [field.encode() for field in fields]]
