"""XRANGE, XREVRANGE and XLEN."""

from __future__ import annotations

import pytest

from commands.streams import ranges
from server.inprocess.server import InProcessServer
from storage.entries.entry_id import make_id
from tests.commands.streams.talk import Talk, entry

INVALID_ID = "ERR Invalid stream ID specified as stream command argument"
MAX = "18446744073709551615"
ALL = ["1-1", "1-2", "2-1", "3-0", "3-5"]


@pytest.fixture
def client(server: InProcessServer) -> Talk:
    """With a stream of five entries."""
    client = Talk(server)
    client.all(*(f"XADD s {entry_id} f {entry_id}" for entry_id in ALL))
    return client


def ids(client: Talk, request: str) -> list[str]:
    return [item[0].decode() for item in client.do(request)]


def test_entries_come_as_pairs_of_id_and_flat_fields_in_both_protocols(
    client: Talk, resp3: Talk
) -> None:
    wire = b"*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nf\r\n$3\r\n1-1\r\n"
    for request in ("XRANGE s - + COUNT 1", "XREVRANGE s 1-1 -"):
        assert client.raw(request) == wire
        assert resp3.raw(request) == wire


def test_the_whole_stream_from_minus_to_plus(client: Talk) -> None:
    assert client.do("XRANGE s - +") == [entry(i, "f", i) for i in ALL]
    assert client.do("XREVRANGE s + -") == [entry(i, "f", i) for i in reversed(ALL)]


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("1-2", "3-0", ["1-2", "2-1", "3-0"]),
        ("1", "1", ["1-1", "1-2"]),
        ("2", "3", ["2-1", "3-0", "3-5"]),
        ("(1-1", "(3-5", ["1-2", "2-1", "3-0"]),
        ("(1-1", "(3", ["1-2", "2-1", "3-0", "3-5"]),
        ("(3", "+", ["3-5"]),
        ("4", "+", []),
        ("-", "0-9", []),
        ("3", "2", []),
        ("+", "-", []),
        ("(2-1", "(2-1", []),
    ],
)
def test_ranges_include_their_ends_by_default(
    client: Talk, start: str, end: str, expected: list[str]
) -> None:
    assert ids(client, f"XRANGE s {start} {end}") == expected
    assert ids(client, f"XREVRANGE s {end} {start}") == expected[::-1]


def test_a_time_alone_is_its_first_id(client: Talk) -> None:
    for time in ("0", "1", "2", "3", "4", "007", "(1", MAX):
        whole = time if time in ("007", "(1") else f"{time}-0"
        for end in ("+", f"{MAX}-{MAX}"):
            request = f"XRANGE s {time} {end} COUNT 2"
            assert ids(client, request) == ids(client, f"XRANGE s {whole} {end} COUNT 2")
        if time != "(1":
            after = [client.do(f"XREAD COUNT 2 STREAMS s {text}") for text in (time, whole)]
            assert after[0] == after[1]


def test_a_count_limits_the_entries(client: Talk) -> None:
    assert ids(client, "XRANGE s - + COUNT 2") == ["1-1", "1-2"]
    assert ids(client, "XREVRANGE s + - count 2") == ["3-5", "3-0"]
    assert ids(client, "XRANGE s - + COUNT 100") == ALL
    assert ids(client, "XRANGE s - + COUNT 1 COUNT 3") == ["1-1", "1-2", "2-1"]


@pytest.mark.parametrize("count", ["0", "-1", "-9223372036854775808"])
@pytest.mark.parametrize("bounds", ["XRANGE s - +", "XREVRANGE s + -", "XRANGE s 9 8"])
def test_a_count_that_is_not_positive_asks_for_nothing(
    client: Talk, resp3: Talk, bounds: str, count: str
) -> None:
    assert client.raw(f"{bounds} COUNT {count}") == b"*-1\r\n"
    assert resp3.raw(f"{bounds} COUNT {count}") == b"_\r\n"


@pytest.mark.parametrize("suffix", ["", " COUNT 5", " COUNT 0", " COUNT -1"])
def test_a_missing_key_is_an_empty_range(client: Talk, suffix: str) -> None:
    assert client.raw(f"XRANGE missing - +{suffix}") == b"*0\r\n"
    assert client.raw(f"XREVRANGE missing + -{suffix}") == b"*0\r\n"


def test_an_empty_stream_is_an_empty_range(client: Talk) -> None:
    client.do("XTRIM s MAXLEN 0")
    assert client.raw("XRANGE s - +") == b"*0\r\n"
    assert client.raw("XREVRANGE s + -") == b"*0\r\n"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("bad +", INVALID_ID),
        ("- bad", INVALID_ID),
        ("( +", INVALID_ID),
        ("(- +", INVALID_ID),
        ("- (+", INVALID_ID),
        (f"({MAX}-{MAX} +", "ERR invalid start ID for the interval"),
        (f"({MAX}-{MAX} bad", "ERR invalid start ID for the interval"),
        ("- (0-0", "ERR invalid end ID for the interval"),
        ("- + COUNT", "ERR syntax error"),
        ("- + FOO 1", "ERR syntax error"),
        ("- + COUNT 1 FOO", "ERR syntax error"),
        ("- + COUNT x", "ERR value is not an integer or out of range"),
        ("- bad COUNT x", INVALID_ID),
    ],
)
def test_bad_arguments_are_refused_before_the_key_is_looked_at(
    client: Talk, words: str, text: str
) -> None:
    client.do("SET string v")
    for key in ("s", "missing", "string"):
        assert client.error(f"XRANGE {key} {words}") == text


def test_the_reverse_form_checks_its_start_first_as_well(client: Talk) -> None:
    assert client.error(f"XREVRANGE s (0-0 ({MAX}-{MAX}") == "ERR invalid start ID for the interval"
    assert client.error("XREVRANGE s (0-0 -") == "ERR invalid end ID for the interval"


@pytest.mark.parametrize("request_", ["XRANGE s - +", "XREVRANGE s + -", "XLEN s"])
def test_a_key_of_another_type_is_refused(server: InProcessServer, request_: str) -> None:
    client = Talk(server)
    client.do("SET s v")
    assert client.error(request_).startswith("WRONGTYPE ")


def test_the_length_is_that_of_the_live_entries(client: Talk) -> None:
    assert client.raw("XLEN s") == b":5\r\n"
    client.do("XDEL s 2-1")
    assert client.raw("XLEN s") == b":4\r\n"
    assert client.raw("XLEN missing") == b":0\r\n"


@pytest.mark.parametrize(("resp", "null"), [(2, b"*-1\r\n"), (3, b"_\r\n")])
def test_a_deleted_entry_is_its_id_without_fields(resp: int, null: bytes) -> None:
    assert ranges.deleted_entry(make_id(5, 7), resp) == b"*2\r\n$3\r\n5-7\r\n" + null
