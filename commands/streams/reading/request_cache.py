"""A cache of recently parsed requests, for clients that send the same ones again.

What is remembered depends on the words of the request alone, and nobody changes it. There is a
bound to it: as many requests as one server has consumers, as a rule, and no long ones.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from commands.core.registry import Argv

T = TypeVar("T")

MAX_REQUESTS = 1024
MAX_REQUEST_BYTES = 512


class RequestCache(Generic[T]):
    """What requests came to, by their words; the oldest are forgotten first."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, ...], T] = {}

    def get(self, argv: Argv) -> T | None:
        """What was remembered of a request with these words."""
        return self._known.get(tuple(argv))

    def put(self, argv: Argv, parsed: T) -> None:
        """Remember what a request came to, unless it is a long one."""
        if sum(map(len, argv)) > MAX_REQUEST_BYTES:
            return
        if len(self._known) >= MAX_REQUESTS:
            del self._known[next(iter(self._known))]
        self._known[tuple(argv)] = parsed
