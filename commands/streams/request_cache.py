"""A cache of recently parsed requests, for clients that send the same ones again.

A cached value depends on the arguments of the request alone and is never modified. The cache is
bounded: 1024 requests, enough for the consumers of a usual server, each of at most 512 bytes.
"""

from __future__ import annotations

from typing import Generic, TypeAlias, TypeVar

Key: TypeAlias = "bytes | tuple[bytes, ...]"
T = TypeVar("T")

MAX_REQUESTS = 1024
MAX_REQUEST_BYTES = 512


class RequestCache(Generic[T]):
    """Parsed requests by `Request.identity`, or by some of their words; first in, first out."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[Key, T] = {}

    def __len__(self) -> int:
        return len(self._known)

    def get(self, key: Key) -> T | None:
        """The parsed form of a request, None if it is not cached."""
        return self._known.get(key)

    def put(self, key: Key, parsed: T) -> None:
        """Cache the parsed form of a request, unless it is a long one."""
        size = len(key) if isinstance(key, bytes) else sum(map(len, key))
        if size > MAX_REQUEST_BYTES:
            return
        if len(self._known) >= MAX_REQUESTS:
            del self._known[next(iter(self._known))]
        self._known[key] = parsed
