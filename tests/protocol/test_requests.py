"""protocol/requests.py: every rule and error text, however the bytes are split; announced sizes
allocate nothing."""

from __future__ import annotations

import dataclasses
import sys
import tracemalloc
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from protocol.request import Cutter
from protocol.requests import Limits, RequestReader, split_inline

PING = b"*1\r\n$4\r\nPING\r\n"


def encode(*argv: bytes) -> bytes:
    return b"*%d\r\n" % len(argv) + b"".join(b"$%d\r\n%b\r\n" % (len(a), a) for a in argv)


def xadd(value: bytes) -> bytes:
    return encode(b"XADD", b"s", b"*", b"f", value)


@dataclasses.dataclass
class Outcome:
    """All that a stream of bytes came to."""

    requests: list[list[bytes]]
    error: str | None = None
    overflowed: bool = False


def new_reader(limits: Limits | None = None, authenticated: bool = True) -> RequestReader:
    return RequestReader(limits or Limits(), Cutter(), authenticated)


def read_chunk(reader: RequestReader, chunk: bytes) -> list[list[bytes]]:
    """The requests that a chunk completes."""
    requests = []
    reader.feed(chunk)
    while (request := reader.next()) is not None:
        requests.append(request.words())
    return requests


def read(
    chunks: Sequence[bytes], limits: Limits | None = None, authenticated: bool = True
) -> Outcome:
    reader = new_reader(limits, authenticated)
    requests = [argv for chunk in chunks for argv in read_chunk(reader, chunk)]
    return Outcome(requests, reader.error, reader.overflowed)


def single_bytes(data: bytes) -> list[bytes]:
    return [data[i : i + 1] for i in range(len(data))]


def read_every_way(
    data: bytes, limits: Limits | None = None, authenticated: bool = True
) -> Outcome:
    """The outcome, which must be the same at once, by single bytes, and cut in two anywhere."""
    whole = read([data], limits, authenticated)
    assert read(single_bytes(data), limits, authenticated) == whole
    for cut in range(1, len(data)):
        assert read([data[:cut], data[cut:]], limits, authenticated) == whole, cut
    return whole


# -- requests as arrays ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "requests"),
    [
        pytest.param(PING, [[b"PING"]], id="one request"),
        pytest.param(PING * 3, [[b"PING"]] * 3, id="a pipeline"),
        pytest.param(encode(b"ECHO", b""), [[b"ECHO", b""]], id="an empty argument"),
        pytest.param(encode(b""), [[b""]], id="an empty name"),
        pytest.param(encode(b"", b"") * 2, [[b"", b""]] * 2, id="nothing but empty arguments"),
        pytest.param(encode(b"\x00\xff", b"\r\n"), [[b"\x00\xff", b"\r\n"]], id="binary"),
        pytest.param(
            encode(b"SET", b"k", b"\r\n$1\r\nx\r\n*1\r\n$4\r\nPING\r\n") + PING,
            [[b"SET", b"k", b"\r\n$1\r\nx\r\n*1\r\n$4\r\nPING\r\n"], [b"PING"]],
            id="an argument that looks like requests",
        ),
        pytest.param(
            encode(b"ECHO", PING[:-2]), [[b"ECHO", PING[:-2]]], id="one that ends like a request"
        ),
        pytest.param(
            PING + encode(b"SET", b"k", b"\r\n*1\r\n"),
            [[b"PING"], [b"SET", b"k", b"\r\n*1\r\n"]],
            id="an argument that looks like the last request",
        ),
        pytest.param(xadd(b"v") * 2, [[b"XADD", b"s", b"*", b"f", b"v"]] * 2, id="an asterisk"),
        pytest.param(encode(b"a\r", b"\nb"), [[b"a\r", b"\nb"]], id="line ends at the edges"),
        pytest.param(encode(*[b"x"] * 120), [[b"x"] * 120], id="a count of three digits"),
        pytest.param(b"*0\r\n" + PING, [[b"PING"]], id="a count of zero is skipped"),
        pytest.param(PING + b"*0\r\n" + PING, [[b"PING"]] * 2, id="also between requests"),
        pytest.param(b"*-1\r\n*-5\r\n" + PING, [[b"PING"]], id="negative counts are skipped"),
        pytest.param(
            b"*-9223372036854775808\r\n" + PING, [[b"PING"]], id="down to the smallest integer"
        ),
        pytest.param(
            b"*1\rX$4\rYPINGZZ" + PING, [[b"PING"]] * 2, id="bytes of line ends are not looked at"
        ),
        pytest.param(b"*2\r\n$4\r\nPING\r\n", [], id="an argument is missing"),
    ],
)
def test_a_request_is_an_array_of_bulk_strings(data: bytes, requests: list[list[bytes]]) -> None:
    assert read_every_way(data) == Outcome(requests)


@pytest.mark.parametrize("missing_bytes", range(1, len(PING)))
def test_a_request_without_its_end_is_no_request_yet(missing_bytes: int) -> None:
    assert read_every_way(PING[:-missing_bytes]) == Outcome([])
    assert read_every_way(PING + PING[:-missing_bytes]) == Outcome([[b"PING"]])


def test_a_chunk_may_be_empty() -> None:
    assert read([b"", b"*1\r", b"", b"\n$4\r\nPI", b"", b"NG\r\n", b""]) == Outcome([[b"PING"]])


# -- inline requests ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "requests"),
    [
        (b"PING\r\n", [[b"PING"]]),
        (b"PING\n", [[b"PING"]]),
        (b"PING\r\r\n", [[b"PING"]]),
        (b"  PING  hello \r\n", [[b"PING", b"hello"]]),
        (b"\r\n\n   \r\n" + PING, [[b"PING"]]),
        (PING + b"PING\r\n" + PING, [[b"PING"]] * 3),
        (b"PING\nECHO a\n" + PING + b"PING\n", [[b"PING"], [b"ECHO", b"a"], [b"PING"], [b"PING"]]),
        (b" *1\r\n", [[b"*1"]]),
        (b"$4\r\nPING\r\n", [[b"$4"], [b"PING"]]),
        (b"PING\x00\r\n", [[b"PING\x00"]]),
        (b"PING", []),
        (b"PING\r", []),
    ],
)
def test_a_line_that_is_no_array_is_an_inline_request(
    data: bytes, requests: list[list[bytes]]
) -> None:
    assert read_every_way(data) == Outcome(requests)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"", []),
        (b" \t\n\v\f\r", []),
        (b"a b", [b"a", b"b"]),
        (b"a\tb\rc\nd", [b"a", b"b", b"c", b"d"]),
        (b"a\vb\fc", [b"a\vb\fc"]),
        (b"a \v\fb", [b"a", b"b"]),
        (rb'"\n\r\t\b\a"', [b"\n\r\t\b\a"]),
        (rb'"\x41\xff\x00"', [b"A\xff\x00"]),
        (rb'"\x4g\xZZ\x4"', [b"x4gxZZx4"]),
        (rb'"\"\\\q"', [b'"\\q']),
        (rb'"a b" c', [b"a b", b"c"]),
        (rb"'a\'b\n\x41' c", [rb"a'b\n\x41", b"c"]),
        (rb"'a\\'b' c", [rb"a\'b", b"c"]),
        (b'""', [b""]),
        (b"'' ''", [b"", b""]),
        (b"a\"b c\" d'e'", [b"ab c", b"de"]),
        (b"'a'\v\"b\"\fc", [b"a", b"b", b"c"]),
        (rb"\x41\n", [rb"\x41\n"]),
        (b'a\vb"c d"', [b"a\vbc d"]),
    ],
)
def test_words_of_a_line_may_be_quoted(line: bytes, words: list[bytes]) -> None:
    assert split_inline(line) == words


@pytest.mark.parametrize(
    "line",
    [
        b'"a',
        b"'a",
        b'a"',
        b'"a"b',
        b"'a'b",
        b'"a""b"',
        rb'"a\"',
        rb"'a\'",
        b'"\\',
        b'a\v"b',
        b'"a" "',
    ],
)
def test_a_quote_must_be_closed_and_end_its_word(line: bytes) -> None:
    assert split_inline(line) is None
    assert read_every_way(PING + b"ECHO " + line + b"\r\n" + PING) == Outcome(
        [[b"PING"]], "Protocol error: unbalanced quotes in request"
    )


# -- what breaks the stream --------------------------------------------------------------------


@pytest.mark.parametrize(
    "count",
    [
        *(b"", b"x", b"+1", b"01", b"00", b"-0", b"-", b" 1", b"1 ", b"1\n", b"1.0", b"1\x00"),
        *(b"1048577", b"1000000000", b"9223372036854775808", b"-9223372036854775809", b"9" * 5000),
    ],
)
def test_an_invalid_count_breaks_the_stream(count: bytes) -> None:
    data = PING + b"*" + count + b"\r\n" + PING
    outcome = Outcome([[b"PING"]], "Protocol error: invalid multibulk length")
    assert read([data]) == read(single_bytes(data)) == outcome


@pytest.mark.parametrize(
    "length",
    [
        *(b"", b"x", b"+1", b"01", b"-0", b"-1", b"-5", b" 1", b"1 ", b"536870913", b"4000000000"),
        *(b"9223372036854775808", b"9" * 5000),
    ],
)
def test_an_invalid_length_breaks_the_stream(length: bytes) -> None:
    data = PING + b"*2\r\n$4\r\nECHO\r\n$" + length + b"\r\nabc\r\n"
    outcome = Outcome([[b"PING"]], "Protocol error: invalid bulk length")
    assert read([data]) == read(single_bytes(data)) == outcome


@pytest.mark.parametrize(
    ("element", "got"),
    [
        (b"+a\r\n", "+"),
        (b"-a\r\n", "-"),
        (b":1\r\n", ":"),
        (b"_\r\n", "_"),
        (b"#t\r\n", "#"),
        (b",1.5\r\n", ","),
        (b"(1\r\n", "("),
        (b"=5\r\ntxt:a\r\n", "="),
        (b"!1\r\na\r\n", "!"),
        (b"*1\r\n$1\r\na\r\n", "*"),
        (b"%1\r\n$1\r\na\r\n$1\r\nb\r\n", "%"),
        (b"~1\r\n$1\r\na\r\n", "~"),
        (b">1\r\n$1\r\na\r\n", ">"),
        (b"|1\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n", "|"),
        (b"'\r\n", "'"),
        (b"\xff\r\n", "\xff"),
        (b"\x01\r\n", "\x01"),
        (b"\r\n", " "),
        (b"\n\r\n", " "),
    ],
)
def test_an_element_that_is_no_bulk_string_breaks_the_stream(element: bytes, got: str) -> None:
    outcome = Outcome([[b"PING"]], f"Protocol error: expected '$', got '{got}'")
    assert read_every_way(PING + b"*2\r\n$4\r\nECHO\r\n" + element) == outcome
    assert read_every_way(PING + b"*1\r\n" + element + PING) == outcome


@pytest.mark.parametrize(
    ("start", "filler", "error"),
    [
        (b"", b"A", "Protocol error: too big inline request"),
        (b"", b"\x00", "Protocol error: too big inline request"),
        (b"", b"\r", "Protocol error: too big inline request"),
        (b"*", b"1", "Protocol error: too big mbulk count string"),
        (b"*1\r\n", b"$", "Protocol error: too big bulk count string"),
        (b"*1\r\n", b"x", "Protocol error: too big bulk count string"),
    ],
)
def test_a_line_that_does_not_end_within_64_kib_breaks_the_stream(
    start: bytes, filler: bytes, error: str
) -> None:
    line_bytes = 65_536 - (len(start) if start == b"*" else 0)
    at_limit, beyond = start + filler * line_bytes, start + filler * (line_bytes + 1)
    for ways in (lambda data: [data], single_bytes, lambda data: [data[:-1], data[-1:]]):
        assert read(ways(PING + at_limit)) == Outcome([[b"PING"]])
        assert read(ways(PING + beyond)) == Outcome([[b"PING"]], error)
        assert read(ways(PING + beyond + b"\r\n")) == Outcome([[b"PING"]], error)


def test_a_line_may_end_right_at_the_limit() -> None:
    limits = Limits(max_inline_bytes=8)
    for start, error in (
        (b"*", "Protocol error: invalid multibulk length"),
        (b"*1\r\n$", "Protocol error: invalid bulk length"),
    ):
        assert read_every_way(start + b"x" * 7 + b"\r\n", limits) == Outcome([], error)
    assert read_every_way(b"A" * 8 + b"\n", limits) == Outcome([[b"A" * 8]])
    assert read_every_way(b"A" * 7 + b"\r\n", limits) == Outcome([[b"A" * 7]])
    error = "Protocol error: too big inline request"
    assert read_every_way(b"A" * 8 + b"\r\n", limits) == Outcome([], error)


def test_nothing_is_read_after_an_error() -> None:
    reader = new_reader()
    assert read_chunk(reader, PING + b"*x\r\n" + PING) == [[b"PING"]]
    assert read_chunk(reader, PING) == []
    assert reader.error == "Protocol error: invalid multibulk length"


def test_nothing_is_held_after_an_error() -> None:
    reader = new_reader()
    read_chunk(reader, b"*3\r\n$3\r\nSET\r\n$1000\r\n" + b"x" * 1000)
    assert reader.buffered_bytes() == 1020
    read_chunk(reader, b"\r\n:1\r\n")
    assert reader.error == "Protocol error: expected '$', got ':'"
    assert reader.buffered_bytes() == 0


# -- limits ------------------------------------------------------------------------------------


def test_the_limit_of_arguments_holds_at_its_edge() -> None:
    limits = Limits(max_arguments=3)
    assert read_every_way(encode(b"a", b"b", b"c"), limits) == Outcome([[b"a", b"b", b"c"]])
    error = "Protocol error: invalid multibulk length"
    assert read_every_way(PING + encode(b"a", b"b", b"c", b"d"), limits) == Outcome(
        [[b"PING"]], error
    )


def test_the_limit_of_a_bulk_string_holds_at_its_edge() -> None:
    limits = Limits(max_bulk_bytes=20)
    assert read_every_way(encode(b"ECHO", b"x" * 20), limits) == Outcome([[b"ECHO", b"x" * 20]])
    error = "Protocol error: invalid bulk length"
    assert read_every_way(PING + encode(b"ECHO", b"x" * 21), limits) == Outcome([[b"PING"]], error)


def test_a_client_that_has_not_authenticated_has_lower_limits() -> None:
    ten, eleven = [b"a"] * 10, [b"a"] * 11
    assert read_every_way(encode(*ten), authenticated=False) == Outcome([ten])
    assert read_every_way(PING + encode(*eleven), authenticated=False) == Outcome(
        [[b"PING"]], "Protocol error: unauthenticated multibulk length"
    )
    assert read([encode(b"x" * 16_384)], authenticated=False) == Outcome([[b"x" * 16_384]])
    data = PING + encode(b"x" * 16_385)
    for chunks in ([data], single_bytes(data)):
        assert read(chunks, authenticated=False) == Outcome(
            [[b"PING"]], "Protocol error: unauthenticated bulk length"
        )


def test_short_bulk_strings_have_limits_too() -> None:
    limits = Limits(max_bulk_bytes_unauthenticated=20)
    assert read([encode(b"x" * 20)], limits, authenticated=False).error is None
    assert read([encode(b"x" * 21)], limits, authenticated=False).error == (
        "Protocol error: unauthenticated bulk length"
    )


def test_input_that_is_invalid_for_all_gets_the_same_error_before_authentication() -> None:
    assert read([b"*1048577\r\n"], authenticated=False).error == (
        "Protocol error: invalid multibulk length"
    )
    assert read([b"*1\r\n$536870913\r\n"], authenticated=False).error == (
        "Protocol error: invalid bulk length"
    )


def test_authentication_lifts_the_lower_limits_at_any_time() -> None:
    reader = new_reader(authenticated=False)
    assert read_chunk(reader, encode(b"AUTH", b"secret")) == [[b"AUTH", b"secret"]]
    reader.authenticated = True
    assert read_chunk(reader, encode(*[b"a"] * 11)) == [[b"a"] * 11]
    reader.authenticated = False
    assert read_chunk(reader, encode(*[b"a"] * 11)) == []
    assert reader.error == "Protocol error: unauthenticated multibulk length"


def test_a_request_beyond_the_query_buffer_limit_overflows() -> None:
    data = encode(b"SET", b"k", b"x" * 30)
    assert read_every_way(PING + data, Limits(max_buffer_bytes=len(data))) == Outcome(
        [[b"PING"], [b"SET", b"k", b"x" * 30]]
    )
    assert read_every_way(PING + data + PING, Limits(max_buffer_bytes=len(data) - 1)) == Outcome(
        [[b"PING"]], overflowed=True
    )


def test_an_overflow_is_noticed_before_the_bytes_are_held() -> None:
    reader = new_reader(Limits(max_buffer_bytes=1_048_576))
    for chunk in (b"*3\r\n$3\r\nSET\r\n$1", b"\r\nk\r\n$2000000", b"\r\n"):
        read_chunk(reader, chunk)
    assert (reader.overflowed, reader.error, reader.buffered_bytes()) == (True, None, 0)
    assert read_chunk(reader, PING) == []


def test_the_buffered_bytes_are_those_of_the_unfinished_request() -> None:
    data = encode(b"SET", b"k", b"x" * 30) + b"PING a\r\n"
    first = len(encode(b"SET", b"k", b"x" * 30))
    for step in (1, 2, 7, 1000):
        reader = new_reader()
        for start in range(0, len(data), step):
            read_chunk(reader, data[start : start + step])
            end = min(start + step, len(data))
            expected = end if end < first else end - first if end < len(data) else 0
            assert reader.buffered_bytes() == expected


# -- cost --------------------------------------------------------------------------------------


@pytest.mark.interpreted  # compiled, its buffers are its own
def test_a_large_argument_in_small_chunks_is_collected_in_place() -> None:
    # One buffer for all chunks, which grows by a share of its size: the bytes copied by all its
    # moves are in proportion to the argument.
    reader = new_reader()
    value, chunk_bytes = bytes(range(256)) * 16_384, 1_000
    data = encode(b"SET", b"k", value)
    read_chunk(reader, data[:20_000])
    buffer, sizes, requests = reader._bulk, set[int](), []
    for start in range(20_000, len(data), chunk_bytes):
        assert reader._bulk is buffer
        sizes.add(sys.getsizeof(buffer))
        requests += read_chunk(reader, data[start : start + chunk_bytes])
    assert requests == [[b"SET", b"k", value]]
    assert len(sizes) < 100 < len(value) // chunk_bytes


def test_a_large_argument_becomes_the_word_without_a_copy() -> None:
    value_bytes = 4 * 1024 * 1024
    chunk = b"x" * 65_536
    reader = new_reader()
    tracemalloc.start()
    read_chunk(reader, b"*1\r\n$%d\r\n" % value_bytes)
    for _ in range(value_bytes // len(chunk)):
        read_chunk(reader, chunk)
    ((word,),) = read_chunk(reader, b"\r\n")
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert word == b"x" * value_bytes and peak_bytes < 1.5 * value_bytes


@pytest.mark.interpreted
def test_a_line_in_single_bytes_is_collected_in_place() -> None:
    reader = new_reader()
    read_chunk(reader, b"a")
    buffer = reader._held
    for _ in range(10_000):
        read_chunk(reader, b"a")
        assert reader._held is buffer
    assert read_chunk(reader, b"\n") == [[b"a" * 10_001]]


@pytest.mark.interpreted
def test_many_arguments_in_chunks_are_each_read_once() -> None:
    argv = [b"XACK", b"s", b"g"] + [b"%d-0" % number for number in range(30_000)]
    data = encode(*argv)
    reader = new_reader()
    requests = read_chunk(reader, data[:20_000])
    for start in range(20_000, len(data), 4096):
        taken = reader._argv
        requests += read_chunk(reader, data[start : start + 4096])
        assert reader._argv is taken or requests
    assert requests == [argv]


@pytest.mark.parametrize(
    "bomb",
    [
        b"*1048576\r\n",
        b"*99999\r\n" * 8000,
        b"*999\r\n" * 8000,
        b"*10\r\n" * 10_000,
        b"*9\r\n" * 16_000,
        b"$1\r\n" * 16_000,
        b"*2\r\n$0\r\n\r\n" * 5_000,
        b"*2\r\n$0\r\nXX~99\r\n" * 4_000,
        PING + b"*1000000\r\n" * 6000 + b"\r\n*1\r\n",
        b"*1\r\n$1\r\naXX*1000000000\r\n" + PING * 100,
        b"*1\r\n$1\r\naXX~1000000000\r\n" + PING * 100,
        b"*1\r\n$1\r\naXX>1000000000\r\n" + PING * 100,
        b"*1\r\n$1\r\naXX|1000000000\r\n" + PING * 100,
        b"*1\r\n$1\r\naXX%1000000000\r\n" + PING * 100,
        b"*1\r\n$536870912\r\n" + b"x" * 60_000,
        b"*0\r\n" * 16_000,
        b"*1\r\n*0\r\n" * 8_000,
        b"*1\r\n$0\r\nXX*0\r\n" * 5_000,
        b"\r\n" * 32_000,
        b"\x00" * 65_000,
        b"' " * 32_000 + b"\n",
        b"a " * 32_000 + b"\n",
        b"\r\n*" * 20_000,
        b"*1000" * 13_000 + b"\r\n",
    ],
)
def test_a_bomb_costs_memory_in_proportion_to_its_bytes(bomb: bytes) -> None:
    # A list with one short argument takes 33 times the bytes of the line that says so.
    assert peak_bytes(bomb) < 100_000 + 40 * len(bomb)


def test_a_line_full_of_escapes_costs_a_fixed_sum_at_most() -> None:
    assert peak_bytes(b'"\\' * 21_845 + b"\n") < 8_000_000


def peak_bytes(data: bytes) -> int:
    """What feeding data to a new reader and taking each request takes at most."""
    tracemalloc.start()
    try:
        reader = new_reader()
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        reader.feed(data)
        while reader.next() is not None:
            pass
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert reader.buffered_bytes() <= len(data)
    return peak - before


# -- the cutter and the scanner ----------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(PING, id="one request"),
        pytest.param(xadd(b"123456789012") * 1_000, id="a pipeline"),
        pytest.param(xadd(b"a\r\nb") * 64 + PING, id="CR LF in arguments"),
        pytest.param(xadd(b"*1000000\r\n") * 64 + PING, id="headers in arguments"),
        pytest.param(xadd(b"a=b>c|d~e%20") * 64, id="bytes that RESP3 uses"),
        pytest.param(encode(b"XREADGROUP", b"STREAMS", b"s", b">") * 64, id="the ID >"),
        pytest.param(encode(b"XACK", *[b"1700000000000-0"] * 5_000), id="many arguments"),
        pytest.param(xadd(b"x" * 100_000), id="a long argument"),
    ],
)
def test_plain_requests_are_cut_however_reads_end(data: bytes) -> None:
    cutter = Cutter()
    reader = RequestReader(Limits(), cutter)
    for chunk in [data, *(data[start : start + 5_000] for start in range(0, len(data), 5_000))]:
        reader.feed(chunk)
        while (request := reader.next()) is not None:
            assert request is cutter or len(request.whole()) > 5_000
    assert reader.is_between() and not reader.unread_bytes()


def test_requests_after_an_odd_one_are_cut_again() -> None:
    cutter = Cutter()
    for odd in (b"*1\rX$4\r\nPING\r\n", b"*1\r\n$1\r\naXX*1\r\n$1\r\nb\r\n", b"+PING\r\n"):
        reader = RequestReader(Limits(), cutter)
        reader.feed(PING * 2 + odd + PING * 2)
        read_by_cutter = []
        while (request := reader.next()) is not None:
            read_by_cutter.append(request is cutter)
        assert read_by_cutter[:2] == read_by_cutter[-2:] == [True, True]
        assert False in read_by_cutter


WORDS = st.binary(max_size=12) | st.sampled_from(
    [b"", b"*", b">", b"$", b"\r\n", b"*1\r\n", b"\r\n$1\r\n", b"\r\n*1\r\n", b"a" * 200]
)
REQUESTS = st.lists(WORDS, min_size=1, max_size=6)


@st.composite
def cuts(draw: st.DrawFn, data: bytes) -> list[bytes]:
    """Data in chunks."""
    places = sorted(draw(st.lists(st.integers(0, len(data)), max_size=6)))
    return [data[start:end] for start, end in pairwise([0, *places, len(data)])]


@given(st.data(), st.lists(REQUESTS, max_size=12))
def test_requests_are_the_same_however_they_are_cut(
    data: st.DataObject, requests: list[list[bytes]]
) -> None:
    chunks = data.draw(cuts(b"".join(encode(*argv) for argv in requests)))
    assert read(chunks) == Outcome(requests)


# What a request may be mistaken for: other elements, line ends that are none, lone headers.
COUNTS = [b"*1\r\n", b"*2\r\n", b"*5\r\n", b"*0\r\n", b"*-1\r\n", b"*1000\r\n", b"*01\r\n"]
BULKS = [b"$1\r\na\r\n", b"$0\r\n\r\n", b"$4\r\na\r\nb\r\n", b"$-1\r\n", b"$1\r\n", b"$01\r\n"]
ODD_LINE_ENDS = [b"$1\r\naXX", b"$1\r\na\r\r", b"$1\r\na\n\n", b"$2\r\n*5XX", b"*1\r\n$1\r\naXX"]
ELEMENTS = [b"+\r\n", b"+a\r\n", b"-a\r\n", b":0\r\n", b":1\r\n", b"_\r\n", b"#t\r\n", b",1\r\n"]
LONG_ELEMENTS = [b"(1\r\n", b"=5\r\ntxt:a\r\n", b"=7\r\n\r\n\r:abc\r\n", b"!1\r\na\r\n"]
AGGREGATES = [b"~1\r\n", b">1\r\n", b"%1\r\n", b"|1\r\n"]
LINES = [b"PING\r\n", b"\r\n", b"\n", b"\r", b'"', b"a "]
FRAGMENTS = st.one_of(
    REQUESTS.map(lambda argv: encode(*argv)),
    st.sampled_from(COUNTS),
    st.sampled_from(BULKS),
    st.sampled_from(ODD_LINE_ENDS),
    st.sampled_from([*ELEMENTS, *LONG_ELEMENTS, *AGGREGATES, *LINES]),
    st.binary(max_size=4),
)


# Before login nothing is cut; these limits are those after it.
SCANNED = Limits(max_arguments_unauthenticated=1_048_576, max_bulk_bytes_unauthenticated=1 << 29)


@given(st.data(), st.lists(FRAGMENTS, max_size=10))
@example(None, [b"*1\r\n", b"$1\r\naXX", b"*5\r\n"]).via("a bad line end, and a lone header")
@example(None, [b"*2\r\n", b"$-1\r\n", b"$4\r\na\r\nb\r\n"]).via("a null")
@example(None, [b"*2\r\n", b"+x\r\n", b"$4\r\na\r\nb\r\n"]).via("a status")
@example(None, [PING, b"%1\r\n+a\r\n+b\r\n"]).via("a map whose key looks like an argument")
@example(None, [b"*2\r\n", b"+x\r\n", b"$1\r\na\r\r", b"$1\r\na\n\n"]).via("odd line ends")
@example(None, [b"*1\r\n", b"=5\r\ntxt:a\r\n"]).via("a verbatim string")
@example(None, [b"*1\r\n", b"$2\r\n*5XX", b"*5\r\n"]).via("an argument like the rest")
def test_the_cutter_and_the_scanner_agree(
    data: st.DataObject | None, fragments: list[bytes]
) -> None:
    stream = b"".join(fragments)
    scanned = read(single_bytes(stream), SCANNED, authenticated=False)
    assert read([stream]) == read([stream], SCANNED, authenticated=False) == scanned
    # The cutter before it and after it, and an incomplete request at the end.
    for chunks in ([stream, PING * 200], [PING * 200 + stream + PING * 200]):
        assert read(chunks) == read(chunks, SCANNED, authenticated=False)
    if data is not None:
        chunks = data.draw(cuts(stream))
        assert read(chunks) == read_in_pieces(chunks) == scanned


def read_in_pieces(chunks: Sequence[bytes]) -> Outcome:
    """Others use the cutter after each request, and bytes arrive meanwhile."""
    cutter = Cutter()
    reader, other = (RequestReader(Limits(), cutter) for _ in range(2))
    requests = []
    for chunk in chunks:
        half = len(chunk) // 2
        reader.feed(chunk[:half])
        reader.hold(chunk[half:])
        while (request := reader.next()) is not None or reader.next_piece():
            if request is not None:
                requests.append(request.words())
            reader.stop()
            read_chunk(other, PING)
            reader.start()
    return Outcome(requests, reader.error, reader.overflowed)


def test_a_limit_of_a_few_bytes_for_lines_holds_however_the_bytes_are_cut() -> None:
    limits = Limits(max_inline_bytes=4)
    outcome = read_every_way(encode(b"GET", b"k" * 1200), limits)
    assert outcome.error == "Protocol error: too big bulk count string"


ALONE = st.lists(st.sampled_from([b"SET", b"k", b"*", b""]), min_size=0, max_size=3).flatmap(
    lambda start: st.lists(
        st.sampled_from([b"v", b"\r\n", b"$1\r\nv", b"x" * 99, b"x" * 3000]).map(
            lambda value: encode(*start, value)
        ),
        min_size=1,
        max_size=3,
    )
)
