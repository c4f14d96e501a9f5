"""storage/additions.py: what entries take together is what each takes."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from storage.additions import Additions, Bulks
from storage.entry_id import MAX_SEQ, SEQ_BITS, make_id
from storage.listpack_size import entries_bytes, integer_bytes
from tests.storage.nodes import additions

WORDS = st.one_of(
    st.sampled_from([b"f", b"g", b"", b"007", b"-12", b"9" * 19, b"9" * 20, b"\n-5"]),
    st.integers(-(2**64), 2**64).map(lambda number: b"%d" % number),
    st.sampled_from([20, 63, 64, 127, 4095, 5000]).map(lambda length: b"x" * length),
)
FIELDS = st.integers(1, 3).flatmap(
    lambda pairs: st.lists(
        st.lists(WORDS, min_size=2 * pairs, max_size=2 * pairs), min_size=1, max_size=9
    )
)
KEY = make_id(5, 0)


def size_of(fields: list[bytes], master_names: list[bytes], entry_id: int) -> int:
    """In a listpack, without the ID."""
    of_id = integer_bytes((entry_id >> SEQ_BITS) - 5) + integer_bytes(entry_id & MAX_SEQ)
    return entries_bytes(KEY, master_names, [entry_id], [fields]) - of_id


@given(FIELDS, st.data())
def test_totals_add_up_what_each_entry_takes(
    all_fields: list[list[bytes]], data: st.DataObject
) -> None:
    ids = [KEY + number for number in range(len(all_fields))]
    more = additions(ids, all_fields)
    for fields in (data.draw(st.sampled_from(all_fields)), [b"other", b"v"], all_fields[0]):
        totals = more.totals(fields[::2])
        assert totals[0] == 0
        assert [after - before for before, after in pairwise(totals)] == [
            size_of(each, fields[::2], entry_id)
            for each, entry_id in zip(all_fields, ids, strict=True)
        ]


@given(FIELDS)
def test_names_and_lengths_are_those_of_each_entry(all_fields: list[list[bytes]]) -> None:
    more = additions(list(range(1, len(all_fields) + 1)), all_fields)
    for index, fields in enumerate(all_fields):
        assert more.names_at(index) == fields[::2]
        assert more.fields_bytes(index) == sum(map(len, fields)) <= more.longest_bytes
    names = [fields[::2] for fields in all_fields]
    assert more.names == (names[0] if names.count(names[0]) == len(names) else None)


@given(st.lists(WORDS, min_size=1, max_size=9))
def test_bulk_strings_are_measured_as_their_texts(texts: list[bytes]) -> None:
    bulks = [b"$%d\r\n%b" % (len(text), text) for text in texts]
    entries = [b""] * len(texts)
    ids = list(range(1, len(texts) + 1))
    as_bulks = Additions(ids, entries, [b"f", Bulks(bulks)], [b"f"])
    as_texts = Additions(ids, entries, [b"f", texts], [b"f"])
    for names in ([b"f"], [b"g"]):
        assert as_bulks.totals(names) == as_texts.totals(names)
    for index in range(len(texts)):
        assert as_bulks.fields_bytes(index) == as_texts.fields_bytes(index)
