"""What a stream has of policies: one object, which only streams with a policy have.

A stream has one as soon as itself or one of its groups has a policy (`policy_of`), so that one look
at `Stream.policy` is all that a stream without policies costs. Each part is a feature's own:

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

    __slots__ = ("retention", "schedule")

    def __init__(self) -> None:
        self.retention: Retention | None = None
        self.schedule: Schedule | None = None

    def copy(self) -> StreamPolicy:
        """Those of a copy of the stream. It has no schedule: entries would appear twice."""
        twin = StreamPolicy()
        twin.retention = None if self.retention is None else self.retention.copy()
        return twin

    def memory_bytes(self) -> int:
        """The memory in bytes, without that of the groups' policies."""
        parts: tuple[Retention | Schedule | None, ...] = (self.retention, self.schedule)
        return _OWN_BYTES + sum(part.memory_bytes() for part in parts if part is not None)


_OWN_BYTES = instance_bytes(StreamPolicy)
