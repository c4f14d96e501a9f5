"""What all layouts have in common: entries come back byte by byte, whole or in part.

Entries that differ in one number: it takes half a byte for each digit.

Entries in columns: what differs is kept, and nothing else.

In which form the entries of a node are packed.
"""

from __future__ import annotations

import random
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.entries.entry import Frame
from storage.entries.entry_id import format_id, make_id
from storage.entries.packed_form import (
    AS_IS,
    COMPRESSED,
    MAX_COLUMNS,
    MIN_ENTRIES,
    PAUSE,
    ColumnLayout,
    Form,
    Layout,
    NumberLayout,
    Packing,
    differing_columns,
    find_number,
)
from storage.zstd import decompress
from tests.storage.entries.sample_layouts import (
    FIRST,
    entries_of,
    laid_out,
    lay_out_all,
    numbered,
    squeezed,
)
from tests.storage.nodes.sample_nodes import encoded, packed_ids
from tests.support.examples import examples

# Digits change in many places after some of them.
STARTS = st.integers(0, 2**45) | st.sampled_from([0, 990, 9_990, 19_990, 1_999_990, 1_999_999_990])


@settings(max_examples=examples(200))
@given(
    start=st.builds(make_id, STARTS, STARTS),
    step=st.sampled_from([1, make_id(1, 0)]),
    names=st.lists(st.sampled_from([b"f", b"%s", b"name"]), min_size=1, max_size=2),
    alphabet=st.sampled_from([None, b"0123456789", b"0f", b"0F ", b"\n\r"]),
    width=st.integers(0, 12),
    data=st.data(),
)
def test_entries_of_one_length_come_back(
    start: int,
    step: int,
    names: list[bytes],
    alphabet: bytes | None,
    width: int,
    data: st.DataObject,
) -> None:
    count = data.draw(st.integers(MIN_ENTRIES, 40))
    ids = [start + step * n for n in range(count)]
    value = st.binary(min_size=width, max_size=width)
    if alphabet is not None:
        value = st.lists(st.sampled_from(alphabet), min_size=width, max_size=width).map(bytes)
    values = data.draw(st.lists(value, min_size=count, max_size=count))
    entries = entries_of(ids, values, names)
    if len(set(map(len, entries))) > 1:
        return  # the number of digits changes within the node
    if lay_out_all(entries, ids) is not None:
        laid_out(entries, ids)


def test_digits_may_change_in_many_places() -> None:
    for letter in (b"7", b"x"):
        for ms in (1_699_999_999_950, 1_700_000_009_999, 1_700_000_019_901):
            laid_out(*numbered(100, make_id(ms, 0), letter))


def test_later_entries_share_the_layout() -> None:
    for letter in (b"7", b"x"):
        layout, _ = laid_out(*numbered(100, FIRST, letter))
        later, later_ids = numbered(100, FIRST + make_id(300, 0), letter)
        assert laid_out(later, later_ids, layout)[0] is layout


def test_entries_that_differ_elsewhere_get_another_layout() -> None:
    for letter in (b"7", b"x"):
        layout, _ = laid_out(*numbered(100, FIRST, letter))
        ids = [FIRST + make_id(n, 0) for n in range(100)]
        others = entries_of(ids, [b"y%04d" % n for n in range(100)], [b"g"])
        assert laid_out(others, ids, layout)[0] is not layout


def test_ids_of_several_kinds_have_layouts_of_their_own() -> None:
    layout, _ = laid_out(*numbered(100))
    of_one_ms = [FIRST + n for n in range(1000, 1100)]
    others = entries_of(of_one_ms, [b"7%04d" % n for n in range(100)], [b"f"])
    assert laid_out(others, of_one_ms, layout)[0].step != layout.step


def test_columns_in_which_entries_differ_are_found() -> None:
    assert differing_columns(b"abcdaXcdabcY", 4, 0) == [1, 3]
    assert differing_columns(b"abcdaXcdabcY", 4, 2) == [3]


@pytest.mark.parametrize("form", [b"%06d", b"%06x", b"x%06dx", b"1%05d", b"%05d0"])
def test_six_digits_take_three_bytes(form: bytes) -> None:
    ids = [FIRST + make_id(n, 0) for n in range(100)]
    values = [form % (n * 811 + 10_000) for n in range(100)]
    layout, packed = laid_out(entries_of(ids, values, [b"f"]), ids)
    assert isinstance(layout, NumberLayout)
    assert len(packed) <= 3 * 100


def test_later_entries_whose_number_has_another_letter_have_another_layout() -> None:
    ids = [FIRST + make_id(n, 0) for n in range(100)]
    layout, _ = laid_out(entries_of(ids, [b"%02d" % n for n in range(100)], [b"f"]), ids)
    assert isinstance(layout, NumberLayout)
    others = entries_of(ids, [b"%02x" % n for n in range(100)], [b"f"])
    assert squeezed(layout, others, ids) is not None
    others = entries_of(ids, [b"%02X" % (n + 100) for n in range(100)], [b"f"])
    assert squeezed(layout, others, ids) is None  # though it reads as the same number
    for form in (b"%c?", b"\xff%c"):
        others = entries_of(ids, [form % (65 + n % 26) for n in range(100)], [b"f"])
        assert squeezed(layout, others, ids) is None


def test_entries_with_another_byte_anywhere_come_back_or_have_another_layout() -> None:
    ids = [FIRST + make_id(n, 0) for n in range(100)]
    entries = entries_of(ids, [b"x%06dy" % (n * 811) for n in range(100)], [b"f"])
    number = slice(entries[0].rindex(b"x") + 1, entries[0].rindex(b"y"))
    layout = NumberLayout(entries[0], format_id(ids[0]), number, make_id(1, 0))
    id_start = entries[0].index(format_id(ids[0]))
    id_columns = range(id_start, id_start + len(format_id(ids[0])))
    for column in range(len(entries[0])):
        for other in b"7a?":
            changed = entries.copy()
            changed[40] = entries[40][:column] + bytes([other]) + entries[40][column + 1 :]
            packed = squeezed(layout, changed, ids)
            is_digit = column in range(number.start, number.stop) and other != ord("?")
            # IDs are what the node says, not what the text says.
            if column not in id_columns:
                assert (packed is not None) == (is_digit or changed == entries)
            if packed is not None and column not in id_columns:
                assert layout.part(ids[0], packed, 100, 0, 100) == b"".join(changed)


@pytest.mark.parametrize("other", [b"\n\n", b"  ", b"1 ", b"\t1", b"\x0b\x0c"])
def test_white_space_is_no_digit(other: bytes) -> None:
    ids = [FIRST + make_id(n, 0) for n in range(100)]
    layout, _ = laid_out(entries_of(ids, [b"%02d" % n for n in range(100)], [b"f"]), ids)
    assert isinstance(layout, NumberLayout)
    values = [other if n % 2 else b"00" for n in range(100)]
    assert squeezed(layout, entries_of(ids, values, [b"f"]), ids) is None
    assert squeezed(layout, entries_of(ids, [other] * 100, [b"f"]), ids) is None


def test_a_number_is_one_run_of_an_even_number_of_digits() -> None:
    assert find_number(b"ab1234", [2, 3, 4, 5]) == slice(2, 6)
    assert find_number(b"ab1234", []) is None
    assert find_number(b"ab1234", [2, 4]) is None


def test_a_number_with_an_odd_number_of_digits_takes_one_beside_it() -> None:
    assert find_number(b"x0123x\r\n", [2, 3, 4]) == slice(1, 5)
    assert find_number(b"x1230x\r\n", [1, 2, 3]) == slice(1, 5)
    assert find_number(b"x123x\r\n", [1, 2, 3]) is None


def test_only_what_differs_is_kept_of_values() -> None:
    entries, ids = numbered(100, FIRST, b"x")  # in two fields
    layout, packed = laid_out(entries, ids)
    assert isinstance(layout, ColumnLayout)
    assert len(packed) == 8 * 100


def test_entries_need_not_differ_at_all() -> None:
    ids = [FIRST + n for n in range(100, 200)]
    layout, packed = laid_out(entries_of(ids, [b"50%"] * 100, [b"f"]), ids)
    assert isinstance(layout, ColumnLayout)
    assert packed == b""


def test_what_is_no_number_is_kept_in_columns() -> None:
    ids = [FIRST + n for n in range(100, 200)]
    values = [b"%02X" % n for n in range(100)]
    layout, packed = laid_out(entries_of(ids, values, [b"f"]), ids)
    assert isinstance(layout, ColumnLayout)
    assert len(packed) == 2 * 100


CHANCE = random.Random(1)


def pack(
    packing: Packing, values: list[bytes], step: int = make_id(1, 0), name: bytes = b"f"
) -> Form:
    """The form of a node with these values; what is compressed comes back."""
    ids = [FIRST + n * step for n in range(len(values))]
    pairs = zip(ids, values, strict=True)
    entries = [encoded(entry_id, [name, value]) for entry_id, value in pairs]
    payload = b"".join(entries)
    lengths = set(map(len, entries))
    length = lengths.pop() if len(lengths) == 1 else 0
    text = bytearray(payload) + b"what was there before"
    form, packed = packing.pack(text, len(payload), length, ids[0], packed_ids(ids))
    if form is COMPRESSED:
        assert decompress(packed) == payload
        assert len(packed) < len(payload)
    if isinstance(form, Frame):
        assert form.build(ids[0], decompress(packed), len(ids), len(payload)) == payload
        assert len(packed) < len(payload)
    return form


def numbers(count: int = 100) -> list[bytes]:
    return [b"%06d" % CHANCE.randrange(10**6) for _ in range(count)]


def noise(count: int = 4) -> list[bytes]:
    return [CHANCE.randbytes(1024) for _ in range(count)]


def test_short_entries_of_one_length_are_kept_by_a_layout() -> None:
    assert isinstance(pack(Packing(), numbers()), Layout)


def test_entries_of_several_lengths_are_compressed() -> None:
    values = [b"%d" % n**3 for n in range(100)]
    assert pack(Packing(has_frames=False), values) is COMPRESSED
    assert isinstance(pack(Packing(has_frames=True), values), Frame)


def test_entries_whose_ids_do_not_proceed_in_equal_steps_are_compressed() -> None:
    assert pack(Packing(has_frames=False), numbers(), step=make_id(3, 0)) is COMPRESSED
    assert isinstance(pack(Packing(has_frames=True), numbers(), step=make_id(3, 0)), Frame)


def test_nodes_share_a_frame_and_a_new_one_is_not_made_for_each_node() -> None:
    packing = Packing(has_frames=True)
    texts = [b"%d" % n**3 for n in range(100)]
    first = pack(packing, texts)
    assert pack(packing, texts) is first
    assert [pack(packing, texts, name=b"g") for _ in range(PAUSE)] == [COMPRESSED] * PAUSE
    other = pack(packing, texts, name=b"g")
    assert isinstance(other, Frame)
    assert other is not first


def test_what_does_not_compress_is_kept_as_it_is() -> None:
    assert pack(Packing(), noise()) is AS_IS


def test_after_an_attempt_in_vain_nothing_is_tried_for_a_while() -> None:
    packing = Packing(has_frames=False)
    texts = [b"a text that compresses well, " * 40] * 4
    assert pack(packing, noise()) is AS_IS
    assert [pack(packing, texts) for _ in range(PAUSE)] == [AS_IS] * PAUSE
    assert pack(packing, texts) is COMPRESSED
    assert pack(packing, texts) is COMPRESSED


def test_a_stream_of_changing_entries_comes_back_to_columns() -> None:
    packing = Packing()
    texts = [CHANCE.randbytes(60) for _ in range(50)]
    assert isinstance(pack(packing, numbers()), Layout)
    assert not isinstance(pack(packing, texts), Layout)
    forms = [pack(packing, numbers()) for _ in range(PAUSE + 1)]
    assert not any(isinstance(form, Layout) for form in forms[:-1])
    assert isinstance(forms[-1], Layout)


def test_compressed_entries_do_not_hold_the_memory_of_the_worst_case() -> None:
    packing = Packing(has_frames=False)
    payload = b"a text that compresses well, " * 40
    ids = packed_ids([FIRST, FIRST + 7])
    text = bytearray(payload)
    tracemalloc.start()
    try:
        packed = [packing.pack(text, len(text), len(text), FIRST, ids)[1] for _ in range(100)]
        held_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held_bytes < 100 * len(payload) / 2
    assert set(map(decompress, packed)) == {payload}


def test_a_layout_is_not_worth_it_for_few_entries() -> None:
    entries, ids = numbered(MIN_ENTRIES - 1)
    assert lay_out_all(entries, ids) is None


def test_entries_with_much_that_differs_have_no_layout() -> None:
    ids = [FIRST + n for n in range(200, 300)]
    values = [bytes((n + k) % 256 for k in range(MAX_COLUMNS + 1)) for n in range(100)]
    assert lay_out_all(entries_of(ids, values, [b"f"]), ids) is None
