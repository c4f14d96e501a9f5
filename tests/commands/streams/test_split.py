"""XSPLIT."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessServer
from tests.commands.streams.talk import Talk

ALL = ["1-1", "1-2", "2-1", "3-0", "3-5"]


@pytest.fixture
def client(server: InProcessServer) -> Talk:
    """With a stream of five entries."""
    client = Talk(server)
    client.all(*(f"XADD s {entry_id} f {entry_id}" for entry_id in ALL))
    return client


def parts(client: Talk, request: str) -> list[tuple[str, str, int]]:
    return [(first.decode(), last.decode(), n) for first, last, n in client.do(request)]


def test_a_range_is_cut_into_parts_of_equally_many_entries(client: Talk) -> None:
    expected = [("1-1", "1-2", 2), ("2-1", "3-0", 2), ("3-5", "3-5", 1)]
    assert parts(client, "XSPLIT s - + EVERY 2") == expected
    assert parts(client, "xsplit s - + every 5") == [("1-1", "3-5", 5)]
    assert parts(client, "XSPLIT s - + EVERY 9223372036854775807") == [("1-1", "3-5", 5)]


def test_the_range_has_the_bounds_of_xrange(client: Talk) -> None:
    assert parts(client, "XSPLIT s (1-1 (3-5 EVERY 2") == [("1-2", "2-1", 2), ("3-0", "3-0", 1)]
    assert parts(client, "XSPLIT s 3 3 EVERY 9") == [("3-0", "3-5", 2)]
    assert parts(client, "XSPLIT s 4 + EVERY 9") == []


def test_a_count_limits_the_entries_in_all(client: Talk) -> None:
    assert parts(client, "XSPLIT s - + EVERY 2 COUNT 3") == [("1-1", "1-2", 2), ("2-1", "2-1", 1)]
    assert parts(client, "XSPLIT s - + COUNT 2 EVERY 2") == [("1-1", "1-2", 2)]
    assert parts(client, "XSPLIT s - + EVERY 2 COUNT 0") == []
    assert parts(client, "XSPLIT s - + EVERY 2 COUNT -1") == []


def test_deleted_entries_are_not_counted(client: Talk) -> None:
    client.do("XDEL s 1-2 3-5")
    assert parts(client, "XSPLIT s - + EVERY 2") == [("1-1", "2-1", 2), ("3-0", "3-0", 1)]


def test_a_missing_key_and_an_empty_stream_have_no_parts(client: Talk) -> None:
    client.do("XTRIM s MAXLEN 0")
    for key in ("missing", "s"):
        assert client.raw(f"XSPLIT {key} - + EVERY 2") == b"*0\r\n"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("bad + EVERY 1", "ERR Invalid stream ID specified as stream command argument"),
        ("- + COUNT 1", "ERR syntax error"),
        ("- + EVERY 1 FOO", "ERR syntax error"),
        ("- + EVERY 1 COUNT", "ERR syntax error"),
        ("- + EVERY 0", "ERR value is not an integer or out of range"),
        ("- + EVERY -1", "ERR value is not an integer or out of range"),
        ("- + EVERY x", "ERR value is not an integer or out of range"),
    ],
)
def test_bad_arguments_are_refused_before_the_key_is_looked_at(
    client: Talk, words: str, text: str
) -> None:
    client.do("SET string v")
    for key in ("s", "missing", "string"):
        assert client.error(f"XSPLIT {key} {words}") == text


def test_a_key_that_is_no_stream_is_refused(client: Talk) -> None:
    client.do("SET string v")
    assert client.error("XSPLIT string - + EVERY 1").startswith("WRONGTYPE")
