"""Entries in replies."""

from __future__ import annotations

import pytest

from rillway.consumer.entry import Entry, id_order, paired, streams_reply

ENTRIES = [[b"1-0", [b"a", b"1", b"a", b"2"]], [b"2-0", None]]


def test_fields_are_a_dictionary_and_pairs_lose_nothing() -> None:
    entry = Entry("1-0", paired([b"a", b"1", b"b", b"", b"a", b"2"]))
    assert entry.pairs == ((b"a", b"1"), (b"b", b""), (b"a", b"2"))
    assert entry.fields == {b"a": b"2", b"b": b""}
    assert entry.deliveries == 1


@pytest.mark.parametrize("reply", [[[b"s", ENTRIES]], {b"s": ENTRIES}])
def test_the_replies_of_both_protocols_are_read(reply: object) -> None:
    assert list(streams_reply(reply)) == [("1-0", [b"a", b"1", b"a", b"2"]), ("2-0", None)]


def test_no_reply_is_no_entries() -> None:
    assert list(streams_reply(None)) == []
    assert list(streams_reply([[b"s", []]])) == []


def test_ids_are_in_the_order_of_their_numbers() -> None:
    assert sorted(["10-0", "9-10", "9-9", "9"], key=id_order) == ["9", "9-9", "9-10", "10-0"]
