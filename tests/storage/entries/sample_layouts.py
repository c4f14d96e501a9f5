"""Entries that are alike, and layouts for them."""

from __future__ import annotations

from storage.entries.entry_id import make_id
from storage.entries.packed_form import Layout, lay_out
from tests.storage.nodes.sample_nodes import encoded

FIRST = make_id(1700000000000, 0)


def entries_of(ids: list[int], values: list[bytes], names: list[bytes]) -> list[bytes]:
    """Entries with these values in all their fields."""
    return [
        encoded(entry_id, [word for name in names for word in (name, value)])
        for entry_id, value in zip(ids, values, strict=True)
    ]


def numbered(count: int, start: int = FIRST, letter: bytes = b"7") -> tuple[list[bytes], list[int]]:
    """Entries whose values differ in four digits, and their IDs. `letter`: is before the digits."""
    ids = [start + make_id(n, 0) for n in range(count)]
    values = [letter + b"%04d" % (n * 37 % 10_000) for n in range(count)]
    return entries_of(ids, values, [b"f", letter]), ids


def lay_out_all(
    entries: list[bytes], ids: list[int], known: Layout | None = None
) -> tuple[Layout, bytes] | None:
    """lay_out() of entries, whose IDs are these."""
    return lay_out(b"".join(entries), len(entries[0]), ids[0], ids[1] - ids[0], known)


def squeezed(layout: Layout, entries: list[bytes], ids: list[int]) -> bytes | None:
    """What a layout makes of entries."""
    return layout.squeeze(b"".join(entries), ids[0])


def laid_out(
    entries: list[bytes], ids: list[int], known: Layout | None = None
) -> tuple[Layout, bytes]:
    """The layout of entries, and what it makes of them; they come back all at once and in parts."""
    payload, count = b"".join(entries), len(ids)
    found = lay_out_all(entries, ids, known)
    assert found is not None
    layout, packed = found
    assert layout.length == len(entries[0])
    assert layout.part(ids[0], packed, count, 0, count) == payload
    for low in range(count):
        for high in {low + 1, min(low + 7, count), count}:
            part = layout.part(ids[low], packed, count, low, high)
            assert part == b"".join(entries[low:high])
    return layout, packed
