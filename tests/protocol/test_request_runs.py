"""protocol/request_runs.py: whatever is taken as a run is what the reader would have read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from protocol.request_runs import MIN_REQUESTS, RequestRun
from protocol.requests import Limits, RequestReader
from tests.support.resp import encode_command

WORDS = st.one_of(
    st.sampled_from([b"", b"*", b"$1", b"*5\r\n", b"\r\n", b"\r\n*2\r\n$3\r\nGET\r\n", b"-"]),
    st.binary(max_size=20),
    st.integers(min_value=90, max_value=2060).map(lambda length: b"v" * length),
)
HEADS = st.lists(WORDS, min_size=1, max_size=4)
NOISE = st.sampled_from(
    [b"", b"\r", b"*", b"$", b"PING\r\n", b"*1\r\n$4\r\nPING\r\n", b"*2\r\n$3\r"]
)


def batch(head: list[bytes], values: list[bytes]) -> bytes:
    return b"".join(encode_command([*head, value]) for value in values)


def take_all(data: bytes) -> tuple[list[list[bytes]], str | None, int]:
    """By way of runs: the requests, the error, and how many bytes are held."""
    reader = RequestReader(Limits())
    run, rest = reader.take_run(data)
    requests = [] if run is None else run.requests()
    requests += reader.feed(rest)
    return requests, reader.error, reader.buffered_bytes


def feed_all(data: bytes) -> tuple[list[list[bytes]], str | None, int]:
    reader = RequestReader(Limits())
    return reader.feed(data), reader.error, reader.buffered_bytes


def taken(data: bytes) -> RequestRun | None:
    return RequestReader(Limits()).take_run(data)[0]


@given(HEADS, st.lists(WORDS, max_size=12), NOISE, st.data())
def test_runs_are_read_as_the_reader_reads_them(
    head: list[bytes], values: list[bytes], noise: bytes, data: st.DataObject
) -> None:
    whole = batch(head, values) + noise
    cut = data.draw(st.integers(0, len(whole)))
    for sent in (whole, whole[:cut], whole[:cut] + noise + whole[cut:]):
        assert take_all(sent) == feed_all(sent)


@given(HEADS, st.lists(st.binary(max_size=9), min_size=MIN_REQUESTS + 1, max_size=9), st.data())
def test_a_damaged_run_is_read_as_the_reader_reads_it(
    head: list[bytes], values: list[bytes], data: st.DataObject
) -> None:
    whole = bytearray(batch(head, values))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] = data.draw(st.sampled_from(b"\r\n*$0123456789-X"))
    assert take_all(bytes(whole)) == feed_all(bytes(whole))


def test_requests_that_differ_in_their_last_word_are_a_run() -> None:
    values = [b"1", b"twenty", b"", b"\r\n", b"x" * 99, b"$5\r\n"]
    run = taken(batch([b"XADD", b"s", b"*", b"f"], values))
    assert run is not None
    assert (run.words, len(run)) == ([b"XADD", b"s", b"*", b"f"], len(values))
    assert run[2] == [b"XADD", b"s", b"*", b"f", b""]
    assert run[-1][-1] == b"$5\r\n"


def test_a_value_that_contains_the_next_request_is_a_value() -> None:
    inner = b"1\r\n" + batch([b"SET", b"k"], [b"2"])[:-2]
    assert take_all(batch([b"SET", b"k"], [inner] * 6)) == ([[b"SET", b"k", inner]] * 6, None, 0)


def test_what_is_behind_a_run_is_left() -> None:
    requests = batch([b"SET", b"k"], [b"%d" % number for number in range(9)])
    run, rest = RequestReader(Limits()).take_run(requests + b"*2\r\n$3\r\nSET\r")
    assert run is not None
    assert len(run) == 8  # the last one is fed with what follows
    assert rest == requests[-len(rest) + 12 :] + b"*2\r\n$3\r\nSET\r"


def test_a_run_is_not_taken_where_it_could_pass_a_limit() -> None:
    requests = batch([b"SET", b"k"], [b"v"] * 9)
    assert taken(requests) is not None
    assert RequestReader(Limits(), authenticated=False).take_run(requests)[0] is None
    assert RequestReader(Limits(max_bulk_bytes=20)).take_run(requests)[0] is None
    inside = RequestReader(Limits())
    inside.feed(b"*2\r\n$3\r\nGET\r\n")
    assert inside.take_run(requests)[0] is None
    broken = RequestReader(Limits())
    broken.feed(b"*x\r\n")
    assert broken.take_run(requests) == (None, requests)


def test_who_sends_no_runs_is_not_searched_for_one_each_time() -> None:
    reader = RequestReader(Limits())
    unlike = b"".join(encode_command(["SET", f"k{number}", "v"]) for number in range(9))
    alike = batch([b"SET", b"k"], [b"v"] * 9)
    assert reader.take_run(unlike)[0] is None
    found = [reader.take_run(alike)[0] is not None for _ in range(30)]
    assert not found[0]
    assert found[-1]
    assert found == sorted(found)


def test_long_values_and_short_runs_are_no_runs() -> None:
    assert taken(batch([b"SET", b"k"], [b"x" * 5000] * 9)) is None
    assert taken(batch([b"SET", b"k"], [b"v"] * MIN_REQUESTS)) is None
    assert taken(batch([b"SET", b"k" * 3000], [b"v"] * 9)) is None
    assert taken(batch([b"MSET"] * 80, [b"v"] * 9)) is None
