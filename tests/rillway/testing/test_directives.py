"""Directives: names, values, and the file that the server reads."""

from __future__ import annotations

import pytest

from protocol.requests import split_inline
from rillway.testing.directives import Value, file_text, normalized, parse_lines


def read_back(directives: dict[str, Value]) -> list[list[str]]:
    """The words of each line, as the server itself splits them."""
    lines = []
    for line in file_text(directives).splitlines():
        words = split_inline(line.encode())
        assert words is not None
        lines.append([word.decode() for word in words])
    return lines


def test_names_become_those_of_the_configuration_file() -> None:
    given = {"stream_node_max_entries": 10, "MaxClients": 5, "lazyfree-lazy-user-del": True}
    assert list(normalized(given)) == [
        "stream-node-max-entries",
        "maxclients",
        "lazyfree-lazy-user-del",
    ]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (10, ["10"]),
        (True, ["yes"]),
        (False, ["no"]),
        ("10mb", ["10mb"]),
        ("", [""]),
        (["normal", 0, 0, 0], ["normal", "0", "0", "0"]),
        ("--port", ["--port"]),
        ('it\'s "quoted" \\ here', ['it\'s "quoted" \\ here']),
        ("two\nlines\tand a bell\a", ["two\nlines\tand a bell\a"]),
        ("Passwörter", ["Passwörter"]),
    ],
)
def test_the_server_reads_each_value_as_it_was_given(value: Value, words: list[str]) -> None:
    assert read_back({"some-name": value}) == [["some-name", *words]]


def test_lines_as_in_the_configuration_file_are_understood() -> None:
    lines = ["stream-node-max-entries 10", "requirepass 'sec ret'", "save 900 1"]
    assert parse_lines(lines) == {
        "stream-node-max-entries": ["10"],
        "requirepass": ["sec ret"],
        "save": ["900", "1"],
    }


@pytest.mark.parametrize("line", ["maxclients", "requirepass 'open", ""])
def test_a_line_without_a_value_or_with_open_quotes_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"expected|No closing quotation"):
        parse_lines([line])


@pytest.mark.parametrize(
    "directives", [{"logfile": "x.log"}, {"dir": "/tmp"}, {"loglevel": "warning"}]
)
def test_what_the_harness_needs_for_itself_is_refused(directives: dict[str, Value]) -> None:
    with pytest.raises(ValueError, match=next(iter(directives))):
        normalized(directives)
    assert normalized({"loglevel": "debug"}) == {"loglevel": "debug"}
