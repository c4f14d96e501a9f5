"""Selectors: commands, keys and channels that go together."""

from __future__ import annotations

import pytest

from commands.acl.rules import RuleError
from commands.acl.selectors import Selector, parse_selector


def test_a_selector_is_shown_as_it_is_written_in_files() -> None:
    selector = parse_selector(b"(+get ~a &x %R~b -set)", all_channels=False)
    assert selector.shown() == b"~a %R~b resetchannels &x -@all +get -set"
    assert Selector(all_channels=True).shown() == b"&* -@all"


def test_everything_is_allowed_by_all_three_together() -> None:
    selector = parse_selector(b"(ALLKEYS AllCommands)", all_channels=False)
    assert not selector.allows_everything
    selector.apply(b"&*")
    assert selector.allows_everything
    for rule in (b"-get", b"resetkeys", b"resetchannels"):
        changed = selector.copy()
        changed.apply(rule)
        assert not changed.allows_everything and selector.allows_everything


@pytest.mark.parametrize("rule", [b"(on)", b"(>p)", b"(reset)", b"((+get))", b"(x)"])
def test_it_has_no_flags_and_no_passwords(rule: bytes) -> None:
    with pytest.raises(RuleError):
        parse_selector(rule, all_channels=False)


@pytest.mark.parametrize("rule", [b'("~a\\x22b" +get)', b'("~a)" +get)', b'("~a\'b" +get)'])
def test_what_a_file_would_not_read_back_is_refused(rule: bytes) -> None:
    with pytest.raises(RuleError):
        parse_selector(rule, all_channels=False)
