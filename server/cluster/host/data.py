"""What the cluster core asks about the data of this server."""

from __future__ import annotations

from commands.core.instance import Instance
from commands.core.server_state import UNKNOWN


class InstanceData:
    """Answers of one instance (`server.cluster.state.Data`)."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    def replication_offset(self) -> int:
        """Of a primary; of a replica what it has applied."""
        return self._instance.replication.offset

    def data_age_ms(self) -> int | None:
        """A replica: since when its data has not been confirmed by its primary."""
        replication = self._instance.replication
        facts = replication.link
        # Bytes of a snapshot are heard as well, while the data is still the former.
        since_ms = facts.heard_ms if replication.is_link_up else facts.down_since_ms
        return None if since_ms == UNKNOWN else max(0, self._instance.now_ms - since_ms)

    def keys_in_slot(self, slot: int) -> int:
        """The number of keys in a slot."""
        index = self._instance.databases[0].slots
        return index.count(slot) if index is not None else 0

    def has_keys(self) -> bool:
        """Whether there is any key."""
        return len(self._instance.databases[0]) > 0
