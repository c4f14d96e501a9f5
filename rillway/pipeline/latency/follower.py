"""A journal as it grows: what was acknowledged since the last look."""

from __future__ import annotations

from collections.abc import Collection

from rillway.pipeline.arrow.decoder import fields_decoder
from rillway.pipeline.client.connection import Connection
from rillway.pipeline.client.ids import format_id, parse_id
from rillway.pipeline.latency.distribution import Tally
from rillway.pipeline.latency.journal import count

COUNT = 1000


class Follower:
    """Reads a journal from the entry after `after` on."""

    def __init__(
        self, connection: Connection, journal: str, stream: str, groups: Collection[str], after: int
    ) -> None:
        self._connection, self._journal = connection, journal
        self._stream, self._groups = stream, groups
        self._decode = fields_decoder(journal)
        self.after = after

    def next_tally(self, wait_ms: int) -> Tally:
        """Return a tally of up to COUNT new entries; waits for the first at most `wait_ms`."""
        reply = self._connection.call(
            "XREAD", "COUNT", COUNT, "BLOCK", max(wait_ms, 1),
            "STREAMS", self._journal, format_id(self.after),
        )  # fmt: skip
        if not reply:
            return Tally()
        [[_, entries]] = reply
        self.after = parse_id(entries[-1][0])
        return count(self._decode(entries), self._stream, self._groups)
