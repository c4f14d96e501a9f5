"""The first line of a script."""

from __future__ import annotations

import pytest

from commands.scripting.shebang import parse_library, parse_script
from protocol.errors import ReplyError


def test_a_script_without_a_shebang_is_its_own_source() -> None:
    parsed = parse_script(b"return 1")
    assert (parsed.source, parsed.flags, parsed.has_shebang) == (b"return 1", frozenset(), False)


def test_the_line_of_a_shebang_counts_in_line_numbers() -> None:
    parsed = parse_script(b"#!lua flags=no-writes,allow-oom\nreturn 1")
    assert parsed.source == b"\nreturn 1"
    assert parsed.flags == {b"no-writes", b"allow-oom"}


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"#!lua", b"ERR Invalid script shebang"),
        (b"#!py\nx", b"ERR Unexpected engine in script shebang: #!py"),
        (b"#!lua flags=no\nx", b"ERR Unexpected flag in script shebang: no"),
        (b"#!lua name=x\nx", b"ERR Unknown lua shebang option: name=x"),
    ],
)
def test_other_first_lines_are_refused(body: bytes, error: bytes) -> None:
    with pytest.raises(ReplyError) as raised:
        parse_script(body)
    assert raised.value.text == error


@pytest.mark.parametrize(
    ("first", "engine"),
    [
        (b"#! name=x", b""),
        (b'#!"" name=x', b""),
        (b"#!lua name=x", b"lua"),
        (b"#!LUA name=x", b"LUA"),
    ],
)
def test_the_engine_of_a_library_may_be_empty(first: bytes, engine: bytes) -> None:
    parsed = parse_library(first + b"\nx")
    assert (parsed.engine, parsed.name, parsed.source) == (engine, b"x", b"\nx")


@pytest.mark.parametrize("first", [b"#!", b"#! ", b"#!lua"])
def test_a_library_needs_a_name(first: bytes) -> None:
    with pytest.raises(ReplyError) as raised:
        parse_library(first + b"\nx")
    assert raised.value.text == b"ERR Library name was not given"
