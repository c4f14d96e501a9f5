from __future__ import annotations

import pytest

from protocol.slots import key_slot, pattern_slot


@pytest.mark.parametrize(
    ("key", "slot"),
    [
        (b"123456789", 0x31C3),
        (b"foo", 12182),
        (b"a", 15495),
        (b"b", 3300),
        (b"", 0),
        (b"{a}{b}", 15495),
        (b"x{a}y", 15495),
        (b"}{a}", 15495),
        (b"x{{foo}", key_slot(b"{foo")),
    ],
)
def test_the_slot_of_a_key_is_that_of_its_tag(key: bytes, slot: int) -> None:
    assert key_slot(key) == slot


def test_an_empty_tag_is_none() -> None:
    assert key_slot(b"{}a") != key_slot(b"{}b")
    assert key_slot(b"{}{a}") != key_slot(b"a")


@pytest.mark.parametrize(
    ("pattern", "slot"),
    [
        (b"{a}*", 15495),
        (b"x{a}?", 15495),
        (b"a", 15495),
        (b"*{a}", None),
        (b"{a*}", None),
        (b"{}*{a}", None),
        (b"x\\{a}", None),
        (b"[ab]", None),
        (b"b*", None),
    ],
)
def test_a_pattern_has_a_slot_if_all_that_match_it_do(pattern: bytes, slot: int | None) -> None:
    assert pattern_slot(pattern) == slot
