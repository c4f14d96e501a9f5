"""Entries that differ in one number: it takes half a byte for each digit."""

from __future__ import annotations

import pytest

from storage.entries.entry_id import format_id, make_id
from storage.entries.number_layout import NumberLayout, find_number
from tests.storage.entries.sample_layouts import FIRST, entries_of, laid_out, squeezed


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
