"""Syntax to arguments. The structures are those of COMMAND DOCS of redis-server 7.0.15."""

from __future__ import annotations

import pytest

from commands.core.registry import COMMANDS
from commands.documentation import row_of
from commands.server.syntax import Argument, parse_syntax


def outline(argument: Argument) -> str:
    """An argument in one line: name:type, its token and flags, its parts in brackets."""
    text = f"{argument.name}:{argument.type}"
    if argument.token:
        text += f" {argument.token}"
    if argument.key_spec_index is not None:
        text += f" key{argument.key_spec_index}"
    for flag in ("multiple", "multiple_token", "optional"):
        text += f" {flag}" if getattr(argument, flag) else ""
    if argument.arguments:
        text += " (" + ", ".join(map(outline, argument.arguments)) + ")"
    return text


def outlines(syntax: str, fullname: str = "", key_specs: int = 0) -> list[str]:
    return [outline(argument) for argument in parse_syntax(syntax, fullname, key_specs)]


@pytest.mark.parametrize(
    ("syntax", "expected"),
    [
        ("", []),
        ("message", ["message:string"]),
        ("[message]", ["message:string optional"]),
        ("[username] password", ["username:string optional", "password:string"]),
        ("channel [channel ...]", ["channel:string multiple"]),
        ("[section [section ...]]", ["section:string multiple optional"]),
        ("[COUNT count]", ["count:integer COUNT optional"]),
        ("[NOACK]", ["noack:pure-token NOACK optional"]),
        ("<ON | OFF>", ["on_off:oneof (on:pure-token ON, off:pure-token OFF)"]),
        ("<id | $>", ["id_last-id:oneof (id:string, last-id:pure-token $)"]),
        (
            "[EX seconds | KEEPTTL]",
            ["seconds_keepttl:oneof optional (seconds:integer EX, keepttl:pure-token KEEPTTL)"],
        ),
        (
            "GROUP group consumer",
            ["group_consumer:block GROUP (group:string, consumer:string)"],
        ),
        (
            "[FULL [COUNT count]]",
            ["count:block FULL optional (count:integer COUNT optional)"],
        ),
        (
            "[FILTERBY <MODULE module-name | PATTERN pattern>]",
            [
                "module-name_pattern:oneof FILTERBY optional"
                " (module-name:string MODULE, pattern:pattern PATTERN)"
            ],
        ),
        (
            "[PREFIX prefix [PREFIX prefix ...]]",
            ["prefix:string PREFIX multiple multiple_token optional"],
        ),
        (
            "field value [field value ...]",
            ["field_value:block multiple (field:string, value:string)"],
        ),
        (
            "<ip:port | <[ID client-id] | [USER username] [[ID client-id] | [USER username] ...]>>",
            [
                "ip:port_client-id_username:oneof (ip:port:string, client-id_username:oneof"
                " multiple (client-id:integer ID optional, username:string USER optional))"
            ],
        ),
    ],
)
def test_the_notation_becomes_arguments(syntax: str, expected: list[str]) -> None:
    assert outlines(syntax) == expected


def test_keys_are_numbered_by_their_specification() -> None:
    assert outlines("key newkey", key_specs=2) == ["key:key key0", "newkey:key key1"]
    assert outlines("STREAMS key [key ...] id [id ...]", key_specs=1) == [
        "key_id:block STREAMS (key:key key0 multiple, id:string multiple)"
    ]
    assert outlines("key value [key value ...]", key_specs=1) == [
        "key_value:block multiple (key:key key0, value:string)"
    ]
    assert outlines("destkey [sourcekey [sourcekey ...]]", key_specs=2) == [
        "destkey:key key0",
        "sourcekey:key key1 multiple optional",
    ]


def test_types_follow_from_names_with_a_few_exceptions() -> None:
    assert outlines("increment") == ["increment:integer"]
    assert outlines("increment", "incrbyfloat") == ["increment:double"]
    assert outlines("start end") == ["start:string", "end:string"]
    assert outlines("start end", "getrange") == ["start:integer", "end:integer"]
    assert outlines("unix-time-seconds pattern") == [
        "unix-time-seconds:unix-time",
        "pattern:pattern",
    ]


def test_xadd_whole() -> None:
    syntax = (
        "key [NOMKSTREAM] [<MAXLEN | MINID> [= | ~] threshold [LIMIT count]] <* | id>"
        " field value [field value ...]"
    )
    assert outlines(syntax, "xadd", 1) == [
        "key:key key0",
        "nomkstream:pure-token NOMKSTREAM optional",
        "maxlen_minid_equal_approximately_threshold:block optional"
        " (maxlen_minid:oneof (maxlen:pure-token MAXLEN, minid:pure-token MINID),"
        " equal_approximately:oneof optional (equal:pure-token =, approximately:pure-token ~),"
        " threshold:string, count:integer LIMIT optional)",
        "auto-id_id:oneof (auto-id:pure-token *, id:string)",
        "field_value:block multiple (field:string, value:string)",
    ]


@pytest.mark.parametrize("syntax", ["[key", "<a | b", "key]", "[a>"])
def test_brackets_that_do_not_match_are_refused(syntax: str) -> None:
    with pytest.raises(ValueError, match=r"missing|unbalanced"):
        parse_syntax(syntax)


def test_the_syntax_of_every_command_can_be_read() -> None:
    declared = [c for top in COMMANDS.values() for c in (top, *top.subcommands.values())]
    assert len(declared) > 100
    for command in declared:
        parse_syntax(row_of(command).syntax, command.fullname.decode(), len(command.keys))
