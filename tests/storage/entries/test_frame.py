"""Entries without what they have in common."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.entries.entry_id import MAX_ID, make_id
from storage.entries.frame import Frame
from tests.storage.entries.test_entry_reader import encoded


def stripped(frame: Frame, first_id: int, entries: bytes) -> bytes | None:
    """What the frame leaves of the entries; None if they do not fit."""
    room = bytearray(len(entries))
    size = frame.strip(first_id, bytearray(entries), len(entries), room)
    return None if size < 0 else bytes(room[:size])


NAMES = st.lists(st.binary(max_size=12), min_size=1, max_size=3)
IDS = st.lists(
    st.one_of(
        st.builds(make_id, st.integers(0, 3), st.integers(0, 300)),
        st.integers(0, MAX_ID),
    ),
    min_size=1,
    max_size=6,
    unique=True,
).map(sorted)
VALUES = st.one_of(st.binary(max_size=8), st.integers(0, 20_000).map(bytes))


@given(NAMES, IDS, st.data())
def test_entries_come_back_byte_by_byte(
    names: list[bytes], ids: list[int], data: st.DataObject
) -> None:
    entries = b"".join(
        encoded(entry_id, [word for name in names for word in (name, data.draw(VALUES))])
        for entry_id in ids
    )
    frame = Frame(entries)
    remaining = stripped(frame, ids[0], entries)
    assert remaining is not None
    assert frame.build(ids[0], remaining, len(ids), len(entries)) == entries


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param([b"f", b"1", b"h", b"2"], id="another name"),
        pytest.param([b"f", b"1", b"gg", b"2"], id="a longer name"),
        pytest.param([b"f", b"1"], id="a field less"),
        pytest.param([b"f", b"1", b"g", b"2", b"h", b"3"], id="a field more"),
        pytest.param([b"g", b"1", b"f", b"2"], id="another order"),
    ],
)
def test_entries_with_other_names_do_not_fit(fields: list[bytes]) -> None:
    first = encoded(make_id(1, 0), [b"f", b"1", b"g", b"2"])
    entries = first + encoded(make_id(1, 1), fields)
    assert stripped(Frame(first), make_id(1, 0), entries) is None


def test_only_ids_and_values_remain() -> None:
    entries = b"".join(encoded(make_id(1000 + n, 0), [b"name", b"v%d" % n]) for n in range(3))
    remaining = stripped(Frame(entries), make_id(1000, 0), entries)
    assert remaining == bytes([0, 0, 1, 0, 1, 0]) + b"\x02v0\x02v1\x02v2"
