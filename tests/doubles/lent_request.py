"""Requests that are good until their handler returns, as a view of received bytes is."""

from __future__ import annotations

from collections.abc import Callable

from commands.core.client import Client
from protocol.request import Request
from server.requests.dispatch import Dispatcher

Execute = Callable[[Dispatcher, Client, Request], bool]


class LentRequest(Request):
    """Raises AssertionError where it is read after `end`; what `keep` returns is good for ever."""

    __slots__ = ("_is_over",)

    def __init__(self, words: list[bytes]) -> None:
        super().__init__(words)
        self._is_over = False

    def end(self) -> None:
        """The handler has returned."""
        self._words, self._is_over = None, True

    def _cut(self) -> list[bytes]:
        raise AssertionError("a request was read after its handler, and not kept")

    def keep(self) -> Request:
        return Request(self.words())


def lending(execute: Execute) -> Execute:
    """`Dispatcher.execute`, with a lent request in place of each."""

    def lend(dispatcher: Dispatcher, client: Client, request: Request) -> bool:
        lent = LentRequest(request.words())
        try:
            return execute(dispatcher, client, lent)
        finally:
            lent.end()

    return lend
