"""Samples of all groups of some streams; in a cluster, of those on all nodes that answer."""

from __future__ import annotations

from collections.abc import Sequence

from rillway.pipeline.client.cluster import away_of, away_sentences
from rillway.pipeline.client.connection import Connection, ConnectionLost, NodeAway
from rillway.pipeline.client.sampling import group_sampler, sample_groups
from rillway.pipeline.ranges.discovery import check_there, find_streams
from rillway.sampler.trend import GroupSample


class Samples:
    """`streams` by name, and all whose names match `pattern`.

    A node that does not answer is asked once more for each sample.
    """

    def __init__(
        self, connection: Connection, streams: Sequence[str] | None, pattern: str | None
    ) -> None:
        """Raises StreamMissing, ConnectionLost."""
        self._connection = connection
        self._streams, self._pattern = tuple(streams or ()), pattern
        self._known = set(self._streams)
        self._away: dict[str, NodeAway] = {}
        connection.leave_out()
        there = [name for name in self._streams if not connection.away(name)]
        check_there(connection, *there, remedy="")
        self._sampler = group_sampler(streams, pattern)
        # A sampler scans one node, and takes names or a pattern, not both.
        self._finds_first = connection.is_cluster or (bool(streams) and pattern is not None)

    @property
    def left_out(self) -> list[str]:
        """A sentence for each node that did not answer for the last sample."""
        return away_sentences(self._connection.left_out.values(), self._away.values())

    def take(self) -> list[GroupSample]:
        """Raises ConnectionLost of a single server, ServerError."""
        if not self._finds_first:
            return sample_groups(self._connection, self._sampler)
        try:
            return self._take_found()
        except ConnectionLost:
            self._connection.leave_out()
        return self._take_found()

    def _take_found(self) -> list[GroupSample]:
        link = self._connection
        if link.left_out:
            link.leave_out()  # one may be back
        # SCAN asks one node; the streams of all may move at any time.
        found = set(find_streams(link, self._streams, self._pattern))
        self._known |= found
        self._away = away_of(link, self._known)
        there = sorted(found - self._away.keys())
        return sample_groups(link, group_sampler(there)) if there else []
