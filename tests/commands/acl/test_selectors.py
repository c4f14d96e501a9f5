"""The patterns of keys and channels.

Which commands rules allow.

Selectors: commands, keys and channels that go together.
"""

from __future__ import annotations

import pytest

import commands.catalogue  # noqa: F401  (declares every command)
from commands.acl import rules
from commands.acl.rules import RuleError
from commands.acl.selectors import (
    ALL_RIGHTS,
    READ,
    WRITE,
    ChannelPatterns,
    CommandRules,
    KeyPatterns,
    Selector,
    parse_selector,
)
from commands.core.registry import COMMANDS, find


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


def made(text: str) -> CommandRules:
    found = CommandRules()
    for rule in text.encode().split():
        found.apply(rule)
    return found


def allows(text: str, request: str) -> bool:
    words = request.encode().split()
    command = find(words, COMMANDS)
    assert command is not None
    return made(text).allow(command, words[-1])


@pytest.mark.parametrize(
    ("text", "request_text", "is_allowed"),
    [
        ("+get", "get k", True),
        ("+get", "set k", False),
        ("+@all -@dangerous", "flushall x", False),
        ("+@all -@dangerous +flushall", "flushall x", True),
        ("-@all +@read", "get k", True),
        ("+config|get", "config get x", True),
        ("+config|get", "config set x", False),
        ("+config -config|set", "config set x", False),
        ("+@slow", "client id", True),  # a container takes its sub-commands along
        ("+select|0", "select 0", True),
        ("+select|0", "select 1", False),
        ("+SET|K", "set k", True),
        ("+select|0 -@connection", "select 0", False),
        ("+select|0 -@all", "select 0", False),
    ],
)
def test_rules_apply_one_after_the_other(text: str, request_text: str, is_allowed: bool) -> None:
    assert allows(text, request_text) is is_allowed


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", "-@all"),
        ("+get -@all +set", "-@all +set"),
        ("+@all +get -GET", "+@all -get"),
        ("+config|get +get -config", "-@all +get -config"),
        ("+@read +get -@read", "-@all +get -@read"),
        ("+select|0 +select|1 +select|0", "-@all +select|1 +select|0"),
        ("+select|0 +select", "-@all +select"),
    ],
)
def test_what_was_written_is_shown(text: str, shown: str) -> None:
    assert made(text).shown() == shown.encode()


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("+nothing", rules.UNKNOWN_COMMAND),
        ("-@nothing", rules.UNKNOWN_COMMAND),
        ("-select|0", rules.UNKNOWN_COMMAND),
        ("+config|nothing", rules.UNKNOWN_COMMAND),
        ("+config|get|x", rules.FIRST_ARGUMENT_OF_SUBCOMMAND),
        ("+get|", rules.SYNTAX),
    ],
)
def test_a_rule_about_nothing_is_refused(rule: str, reason: bytes) -> None:
    with pytest.raises(RuleError) as caught:
        made(rule)
    assert caught.value.reason == reason


def test_a_copy_of_command_rules_is_independent() -> None:
    first = made("+@all -get +select|0")
    copied = first.copy()
    copied.apply(b"-@all")
    assert first.shown() == b"+@all -get +select|0"
    assert first.allow(find([b"set"], COMMANDS), b"")  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", [b"+get|a b", b"+get|a\nuser evil on nopass +@all", b"+get|a\0"])
def test_a_first_argument_has_no_blanks(rule: bytes) -> None:
    found = CommandRules()
    with pytest.raises(RuleError):
        found.apply(rule)
    assert found.shown() == b"-@all"


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
