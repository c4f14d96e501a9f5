"""Scripts of one key each: a check and the write that relies on it are one step.

Not every server has scripts, and not every user may run them: then the callers use WATCH.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rillway.pipeline.client.capabilities import Capabilities
from rillway.pipeline.client.connection import Connection, Reply, ServerError, Word

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
        """The reply; None if there are no scripts. Raises ServerError."""
        return self.run_all(script, {key: words}).get(key)

    def run_all(self, script: str, words: Mapping[str, Sequence[Word]]) -> dict[str, Reply]:
        """The replies by key, from few pipelines; empty if there are no scripts.

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
