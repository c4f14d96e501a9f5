"""What the cluster core asks about the data of this server."""

from __future__ import annotations

from commands.core.instance import Instance
from commands.replication.state import UNKNOWN


class InstanceData:
    """Answers of one instance (`server.cluster.state.Data`)."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    def replication_offset(self) -> int:
        """Of a primary; of a replica what it has applied."""
        return self._instance.replication.offset

    def primary_silence_ms(self) -> int | None:
        """A replica: since when its primary is silent; None if it never had a link."""
        facts = self._instance.replication.link
        if facts.heard_ms == UNKNOWN:
            return None
        return max(0, self._instance.now_ms - facts.heard_ms)

    def is_primary_link_up(self) -> bool:
        """A replica: whether it is synchronised, and its link is up."""
        return self._instance.replication.is_link_up

    def keys_in_slot(self, slot: int) -> int:
        """The number of keys in a slot."""
        index = self._instance.databases[0].slots
        return index.count(slot) if index is not None else 0

    def has_keys(self) -> bool:
        """Whether there is any key."""
        return len(self._instance.databases[0]) > 0
