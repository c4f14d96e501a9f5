"""Blocks of pending entries so small that a few entries need many."""

from __future__ import annotations

import pytest

from storage.groups import pending_list


def make_blocks_small(patch: pytest.MonkeyPatch, entries: int) -> None:
    """Until the patch is undone, a block holds up to `entries` entries."""
    patch.setattr(pending_list, "BLOCK_ENTRIES", entries)
    patch.setattr(pending_list, "SPARSE_ENTRIES", max(entries // 8, 2))
