"""Entries in replies."""

from __future__ import annotations

from datetime import timedelta

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
    assert list(streams_reply(reply)) == [
        ("1-0", [b"a", b"1", b"a", b"2"], 1),
        ("2-0", None, 1),
    ]


def test_no_reply_is_no_entries() -> None:
    assert list(streams_reply(None)) == []
    assert list(streams_reply([[b"s", []]])) == []


def test_ids_are_in_the_order_of_their_numbers() -> None:
    assert sorted(["10-0", "9-10", "9-9", "9"], key=id_order) == ["9", "9-9", "9-10", "10-0"]


def test_a_reply_with_claim_has_the_number_of_deliveries() -> None:
    reply = [[b"s", [[b"1-0", [b"a", b"1"], 0, 0], [b"0-5", [b"a", b"2"], 70, 3]]]]
    assert [found[2] for found in streams_reply(reply)] == [1, 4]


def test_a_verdict_is_no_part_of_what_an_entry_is() -> None:
    entry = Entry("1-0", ((b"a", b"1"),))
    entry.retry(timedelta(minutes=2), "busy")
    assert (entry.verdict.retry_ms, entry.verdict.reason) == (120_000, "busy")
    entry.retry(0.25)
    assert entry.verdict.retry_ms == 250
    assert entry == Entry("1-0", ((b"a", b"1"),))
    assert "verdict" not in repr(entry)


@pytest.mark.parametrize("seconds", [-1, 1e9, float("nan")])
def test_a_time_that_makes_no_sense_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="expected a time"):
        Entry("1-0", ()).retry(seconds)
