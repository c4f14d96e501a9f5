"""A field and its value in one record."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from storage.types.members.pairs import field_of, pair, value_of

TEXTS = st.one_of(st.binary(max_size=20), st.sampled_from([b"x" * n for n in (254, 255, 70_000)]))


@given(TEXTS, TEXTS)
def test_a_record_has_both(field: bytes, value: bytes) -> None:
    record = pair(field, value)
    assert (field_of(record), value_of(record)) == (field, value)


def test_a_short_field_costs_one_byte_more() -> None:
    assert pair(b"f", b"value") == b"\x01fvalue"
    assert len(pair(b"f" * 255, b"")) == 255 + 9
