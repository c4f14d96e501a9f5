"""Entries in columns come back byte by byte, or there is no layout for them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from storage.entry import Shape, encode_id
from storage.entry_id import make_id
from storage.layout import MAX_COLUMNS, MIN_ENTRIES, Layout, lay_out

# Digits change in many places behind some of them.
STARTS = st.integers(0, 2**45) | st.sampled_from([0, 990, 9_990, 19_990, 1_999_990, 1_999_999_990])

FIRST = make_id(1700000000000, 0)


def entries_of(ids: list[int], values: list[bytes], names: list[bytes]) -> list[bytes]:
    """Entries with these values in all their fields."""
    shape = Shape(names)
    return [
        shape.encode(encode_id(entry_id), [word for name in names for word in (name, value)])
        for entry_id, value in zip(ids, values, strict=True)
    ]


def laid_out(entries: list[bytes], ids: list[int], known: Layout | None = None) -> Layout:
    """The layout of entries, which come back from it one by one and all at once."""
    payload, count = b"".join(entries), len(ids)
    found = lay_out(payload, ids, known)
    assert found is not None
    layout, packed = found
    assert len(packed) == layout.column_count * count
    assert layout.expand(ids[0], packed, count) == payload
    for place, entry_id in enumerate(ids):
        assert layout.entry(entry_id, packed, count, place) == entries[place]
    return layout


@settings(max_examples=200, deadline=None)
@given(
    start=st.builds(make_id, STARTS, STARTS),
    step=st.sampled_from([1, make_id(1, 0)]),
    names=st.lists(st.sampled_from([b"f", b"%s", b"name"]), min_size=1, max_size=2),
    width=st.integers(0, 12),
    data=st.data(),
)
def test_entries_of_one_length_come_back(
    start: int, step: int, names: list[bytes], width: int, data: st.DataObject
) -> None:
    count = data.draw(st.integers(MIN_ENTRIES, 40))
    ids = [start + step * n for n in range(count)]
    value = st.binary(min_size=width, max_size=width)
    values = data.draw(st.lists(value, min_size=count, max_size=count))
    entries = entries_of(ids, values, names)
    if len(set(map(len, entries))) > 1:
        return  # the number of digits changes within the node
    if lay_out(b"".join(entries), ids, None) is not None:
        layout = laid_out(entries, ids)
        assert layout.column_count <= width * len(names)


def numbered(count: int, start: int = FIRST) -> tuple[list[bytes], list[int]]:
    ids = [start + make_id(n, 0) for n in range(count)]
    return entries_of(ids, [b"%04d" % (n * 37 % 10_000) for n in range(count)], [b"f"]), ids


def test_only_what_differs_is_kept_of_values() -> None:
    entries, ids = numbered(100)
    layout = laid_out(entries, ids)
    assert layout.column_count == 4
    assert layout.length == len(entries[0])


def test_later_entries_share_the_layout() -> None:
    entries, ids = numbered(100)
    layout = laid_out(entries, ids)
    later, later_ids = numbered(100, FIRST + make_id(300, 0))
    assert laid_out(later, later_ids, layout) is layout


def test_entries_that_differ_elsewhere_get_another_layout() -> None:
    layout = laid_out(*numbered(100))
    ids = [FIRST + make_id(n, 0) for n in range(100)]
    others = entries_of(ids, [b"x%03d" % n for n in range(100)], [b"g"])
    assert laid_out(others, ids, layout) is not layout


def test_digits_may_change_in_many_places() -> None:
    for ms in (1_699_999_999_950, 1_700_000_009_999, 1_700_000_019_901):
        entries, ids = numbered(100, make_id(ms, 0))
        assert laid_out(entries, ids).column_count == 4


def test_ids_of_several_kinds_have_layouts_of_their_own() -> None:
    entries, ids = numbered(100)
    layout = laid_out(entries, ids)
    of_one_ms = [FIRST + n for n in range(1000, 1100)]
    others = entries_of(of_one_ms, [b"%04d" % n for n in range(100)], [b"f"])
    assert laid_out(others, of_one_ms, layout).step != layout.step


def test_a_layout_is_not_worth_it_for_few_entries() -> None:
    entries, ids = numbered(MIN_ENTRIES - 1)
    assert lay_out(b"".join(entries), ids, None) is None


def test_entries_with_much_that_differs_have_no_layout() -> None:
    ids = [FIRST + n for n in range(200, 300)]
    values = [bytes((n + k) % 256 for k in range(MAX_COLUMNS + 1)) for n in range(100)]
    assert lay_out(b"".join(entries_of(ids, values, [b"f"])), ids, None) is None
