"""A cache of recently parsed requests, for clients that send the same ones again.

A cached value depends on the arguments of the request alone and is never modified. The cache is
bounded: 1024 requests, enough for the consumers of a usual server, each of at most 512 bytes.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from protocol.requests import Argv

T = TypeVar("T")

MAX_REQUESTS = 1024
MAX_REQUEST_BYTES = 512


class RequestCache(Generic[T]):
    """Parsed requests by their arguments; the oldest are evicted first (FIFO)."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, ...] | bytes, T] = {}

    def get(self, argv: Argv) -> T | None:
        """The parsed form of a request with these arguments, None if it is not cached."""
        return self._known.get(tuple(argv))

    def put(self, argv: Argv, parsed: T) -> None:
        """Cache the parsed form of a request, unless it is a long one."""
        self._put(tuple(argv), sum(map(len, argv)), parsed)

    def get_bytes(self, request: bytes) -> T | None:
        """`get` for the raw bytes of a request."""
        return self._known.get(request)

    def put_bytes(self, request: bytes, parsed: T) -> None:
        """`put` for the raw bytes of a request."""
        self._put(request, len(request), parsed)

    def _put(self, request: tuple[bytes, ...] | bytes, size: int, parsed: T) -> None:
        if size > MAX_REQUEST_BYTES:
            return
        if len(self._known) >= MAX_REQUESTS:
            del self._known[next(iter(self._known))]
        self._known[request] = parsed
