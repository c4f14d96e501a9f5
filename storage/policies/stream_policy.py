"""The policies of a stream, in one object, which only streams with a policy have.

A stream has one once it or one of its groups has a policy, so for streams without policies the only
cost is a comparison of `Stream.policy` with None. Each part belongs to a feature:

    retention    which entries the stream keeps (storage/policies/retention.py)
    schedule     entries that are added later (storage/policies/schedule.py)

The policy of a group is an attribute of the group.
"""

from __future__ import annotations

from storage.memory import instance_bytes
from storage.policies.retention import Retention
from storage.policies.schedule import Schedule


class StreamPolicy:
    """The policies of one stream."""

    __slots__ = ("next_group", "retention", "schedule")

    def __init__(self) -> None:
        self.retention: Retention | None = None
        self.schedule: Schedule | None = None
        self.next_group = 0  # the place of the group that the timer looks at first

    def copy(self) -> StreamPolicy:
        """The policies of a copy of the stream, without a schedule: entries would appear twice."""
        twin = StreamPolicy()
        twin.retention = None if self.retention is None else self.retention.copy()
        return twin

    def memory_bytes(self) -> int:
        """The memory in bytes, without that of the groups' policies."""
        parts: tuple[Retention | Schedule | None, ...] = (self.retention, self.schedule)
        return _OWN_BYTES + sum(part.memory_bytes() for part in parts if part is not None)


_OWN_BYTES = instance_bytes(StreamPolicy)
