"""The format of dead letters."""

from __future__ import annotations

from typing import Any

from rillway.dead_letter import NAMES, dead_letter, own_fields

FIELDS = [b"n", b"1", b"n", b"2", b"\xff", b""]
ORIGIN: dict[str, Any] = {
    "stream": "orders",
    "group": "billing",
    "consumer": b"alice",
    "entry_id": "1-0",
    "deliveries": 5,
    "delivered_ms": 1_700_000_000_000,
    "cause": "failed",
    "error": "no such customer",
}


def test_a_dead_letter_has_the_entrys_fields_and_then_its_origin() -> None:
    words = dead_letter(FIELDS, **ORIGIN)
    assert words[: len(FIELDS)] == FIELDS
    assert tuple(words[len(FIELDS) :: 2]) == NAMES
    assert words[len(FIELDS) + 1 :: 2] == [
        b"orders", b"billing", b"alice", b"1-0", b"5", b"1700000000000", b"failed",
        b"no such customer", b"1",
    ]  # fmt: skip


def test_an_entry_that_was_given_back_has_no_owner_and_no_time() -> None:
    words = dead_letter(FIELDS, **(ORIGIN | {"consumer": b"", "delivered_ms": None}))
    named = dict(zip(words[::2], words[1::2], strict=True))
    assert named[b"rillway-consumer"] == named[b"rillway-delivered"] == b""


def test_a_dead_letter_that_dies_again_has_its_last_origin_only() -> None:
    first = dead_letter(FIELDS, **ORIGIN)
    again = dead_letter(first, **(ORIGIN | {"group": "b"}))
    assert again[:-1] == dead_letter(FIELDS, **(ORIGIN | {"group": "b"}))[:-1]
    assert again[-1] == b"2"
    assert own_fields(again) == FIELDS


def test_a_count_of_hops_that_no_server_wrote_counts_as_none() -> None:
    for hops in (b"many", b"-1", b"9" * 30):
        assert dead_letter([b"rillway-hops", hops], **ORIGIN)[-1] == b"1"


def test_the_text_of_an_error_may_be_no_unicode() -> None:
    assert dead_letter([], **(ORIGIN | {"error": "no \udcff"}))[-3] == b"no \\udcff"
