"""Changes of one part of a pending entry: its owner, or its delivery."""

from __future__ import annotations

from storage.groups.group import Consumer, Group
from storage.groups.pending_block import PendingEntry


def assign(group: Group, entry: PendingEntry, consumer: Consumer) -> None:
    """Change the owner; time and count stay."""
    group.claim(entry, consumer, entry.delivery_ms, entry.delivery_count)


def set_delivery(group: Group, entry: PendingEntry, delivery_ms: int, delivery_count: int) -> None:
    """Change when and how often an owned entry was delivered; its consumer stays."""
    assert entry.consumer is not None
    group.claim(entry, entry.consumer, delivery_ms, delivery_count)
