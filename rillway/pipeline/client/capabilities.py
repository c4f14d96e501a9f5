"""The capabilities of a server beyond Redis 7.0, from its COMMAND, never guessed from a version."""

from __future__ import annotations

from typing import Any

from rillway.pipeline.client.connection import Connection, ServerError


class Capabilities:
    """The capabilities of one server, or of all nodes of a cluster.

    Each is requested when first needed, then cached.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._known: dict[tuple[str, ...], bool] = {}

    def has_command(self, name: str) -> bool:
        """Return True if a command exists, e.g. `XSPLIT`; False if COMMAND is not allowed."""
        return self._remember(
            (name,), ("COMMAND", "INFO", name), lambda reply: reply[0] is not None
        )

    def has_option(self, name: str, option: str) -> bool:
        """Return True if COMMAND DOCS of a command, e.g. `XTRIM`, has an option, e.g. `ACKED`."""
        token = option.encode().upper()
        return self._remember(
            (name, option), ("COMMAND", "DOCS", name), lambda reply: token in _tokens(reply)
        )

    def _remember(self, key: tuple[str, ...], request: tuple[str, ...], test: Any) -> bool:
        if key not in self._known:
            try:
                self._known[key] = all(
                    test(node.call(*request)) for node in self._connection.nodes()
                )
            except ServerError:
                self._known[key] = False
        return self._known[key]


def _tokens(docs: Any) -> set[bytes]:
    """All words after `token`, however deep in the nested reply of COMMAND DOCS."""
    found: set[bytes] = set()
    if isinstance(docs, list):
        for position, item in enumerate(docs):
            if isinstance(item, list):
                found |= _tokens(item)
            elif item == b"token" and position + 1 < len(docs):
                found.add(bytes(docs[position + 1]).upper())
    return found
