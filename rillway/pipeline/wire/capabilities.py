"""The capabilities of a server beyond Redis 7.0, from its COMMAND, never guessed from a version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rillway.pipeline.wire.connection import Connection, Reply, ServerError, Word


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
    """Return all words after `token` in the nested reply of COMMAND DOCS, at any depth."""
    found: set[bytes] = set()
    if isinstance(docs, list):
        for position, item in enumerate(docs):
            if isinstance(item, list):
                found |= _tokens(item)
            elif item == b"token" and position + 1 < len(docs):
                found.add(bytes(docs[position + 1]).upper())
    return found


SCRIPTS_AT_ONCE = 500


class Scripts:
    """Runs scripts on a server, or on all nodes of a cluster."""

    def __init__(self, connection: Connection, capabilities: Capabilities | None = None) -> None:
        self._connection = connection
        self._capabilities = capabilities or Capabilities(connection)
        self._may_run = True

    @property
    def are_there(self) -> bool:
        return self._may_run and self._capabilities.has_command("EVAL")

    def run(self, script: str, key: str, words: Sequence[Word]) -> Reply | None:
        """Return the reply, or None if there are no scripts. Raises ServerError."""
        return self.run_all(script, {key: words}).get(key)

    def run_all(self, script: str, words: Mapping[str, Sequence[Word]]) -> dict[str, Reply]:
        """Return the replies by key, from a few pipelines; empty if there are no scripts.

        `words`: the arguments by key. Raises ServerError.
        """
        if not words or not self.are_there:
            return {}
        replies: list[Reply] = []
        keys = list(words)
        for begin in range(0, len(keys), SCRIPTS_AT_ONCE):
            part = keys[begin : begin + SCRIPTS_AT_ONCE]
            requests = [("EVAL", script, 1, key, *words[key]) for key in part]
            replies += self._connection.call_all(requests)
        for reply in replies:
            if isinstance(reply, ServerError):
                if reply.code != "NOPERM":
                    raise reply
                self._may_run = False
                return {}
        return dict(zip(keys, replies, strict=True))
