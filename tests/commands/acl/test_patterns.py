"""The patterns of keys and channels."""

from __future__ import annotations

import pytest

from commands.acl.patterns import ALL_RIGHTS, READ, WRITE, ChannelPatterns, KeyPatterns
from commands.acl.rules import RuleError


def keys(*rules: bytes) -> KeyPatterns:
    made = KeyPatterns()
    for rule in rules:
        made.add(rule)
    return made


def test_a_key_needs_one_pattern_with_all_rights() -> None:
    made = keys(b"%R~a*", b"%W~ab*")
    assert made.allow(b"ab", READ) and made.allow(b"ab", WRITE) and made.allow(b"ab", 0)
    assert not made.allow(b"ab", ALL_RIGHTS)
    assert not made.allow(b"b", 0)


def test_rights_for_the_same_pattern_add_up() -> None:
    made = keys(b"%r~a", b"%W~a", b"%R~b")
    assert made.shown() == [b"~a", b"%R~b"]
    assert made.allow(b"a", ALL_RIGHTS)


@pytest.mark.parametrize("rule", [b"%", b"%~a", b"%X~a", b"%RR~a", b"~a b", b"%R~\0"])
def test_a_malformed_pattern_is_refused_and_changes_nothing(rule: bytes) -> None:
    made = keys()
    with pytest.raises(RuleError):
        made.add(rule)
    assert made.shown() == []


def test_after_all_keys_no_pattern_is_accepted() -> None:
    made = keys(b"~a")
    made.clear(covers_all=True)
    with pytest.raises(RuleError):
        made.add(b"~b")
    assert made.shown() == [b"~*"] and made.allow(b"any", ALL_RIGHTS)
    made.clear()
    assert not made.allow(b"any", 0)


def test_a_star_with_a_right_covers_all_keys_for_it() -> None:
    assert keys(b"%R~*").allow_all(READ)
    assert not keys(b"%R~*").allow_all(WRITE) and not keys(b"~a*").allow_all(READ)


def test_a_pattern_to_subscribe_to_must_be_listed_literally() -> None:
    channels = ChannelPatterns(covers_all=False)
    channels.add(b"&news.*")
    assert channels.allow(b"news.it", is_pattern=False)
    assert channels.allow(b"news.*", is_pattern=True)
    assert not channels.allow(b"news.i*", is_pattern=True)
    channels.clear(covers_all=True)
    assert channels.allow(b"other*", is_pattern=True)
    with pytest.raises(RuleError):
        channels.add(b"&x")


def test_a_copy_is_independent() -> None:
    made = keys(b"%R~a")
    copied = made.copy()
    copied.add(b"%W~a")
    assert made.shown() == [b"%R~a"]
