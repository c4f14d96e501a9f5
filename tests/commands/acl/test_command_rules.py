"""Which commands rules allow."""

from __future__ import annotations

import pytest

import commands.catalogue  # noqa: F401  (declares every command)
from commands.acl import rules
from commands.acl.command_rules import CommandRules
from commands.acl.rules import RuleError
from commands.core.registry import COMMANDS, find


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


def test_a_copy_is_independent() -> None:
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
