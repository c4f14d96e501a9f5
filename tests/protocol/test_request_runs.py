"""protocol/request_runs.py: whatever is taken as a run is what the reader would have read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.request_runs import MIN_REQUESTS, RequestRun, TailRun
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


def tail_batch(head: list[bytes], tails: list[list[bytes]]) -> bytes:
    return b"".join(encode_command([*head, *tail]) for tail in tails)


def take_all(data: bytes, shared: int = 0) -> tuple[list[list[bytes]], str | None, int]:
    """By way of runs: the requests, the error, and how many bytes are held.

    `shared`: how many words of a request are likely to come again.
    """
    reader = RequestReader(Limits(), count_shared=lambda _: shared)
    run, rest = reader.take_run(data)
    requests = [] if run is None else run.requests()
    requests += reader.feed(rest)
    return requests, reader.error, reader.buffered_bytes


def feed_all(data: bytes) -> tuple[list[list[bytes]], str | None, int]:
    reader = RequestReader(Limits())
    return reader.feed(data), reader.error, reader.buffered_bytes


def taken(data: bytes, shared: int = 0) -> RequestRun | TailRun | None:
    return RequestReader(Limits(), count_shared=lambda _: shared).take_run(data)[0]


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


@given(HEADS, st.lists(st.tuples(WORDS, WORDS, WORDS).map(list), max_size=9), NOISE, st.data())
def test_runs_of_tails_are_read_as_the_reader_reads_them(
    head: list[bytes], tails: list[list[bytes]], noise: bytes, data: st.DataObject
) -> None:
    whole = tail_batch(head, tails) + noise
    cut = data.draw(st.integers(0, len(whole)))
    for sent in (whole, whole[:cut], whole[:cut] + noise + whole[cut:]):
        assert take_all(sent, len(head)) == feed_all(sent)


@given(
    st.lists(st.sampled_from([b"XADD", b"s", b"*"]), min_size=1, max_size=3),
    st.lists(st.lists(st.binary(max_size=5), min_size=2, max_size=2), min_size=6, max_size=9),
    st.data(),
)
def test_a_damaged_run_of_tails_is_read_as_the_reader_reads_it(
    head: list[bytes], tails: list[list[bytes]], data: st.DataObject
) -> None:
    whole = bytearray(tail_batch(head, tails))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(whole) - 1))
        whole[place] = data.draw(st.sampled_from(b"\r\n*$+:~0123456789-X"))
    assert take_all(bytes(whole), len(head)) == feed_all(bytes(whole))


def test_requests_that_begin_with_the_same_words_are_a_run() -> None:
    tails = [[b"f%d" % number, b"\r\n" * (number == 1)] for number in range(6)]
    run = taken(tail_batch([b"XADD", b"s", b"*"], tails), 3)
    assert isinstance(run, TailRun)
    assert (run.words, run.rows, len(run)) == ([b"XADD", b"s", b"*"], tails, 6)
    assert run.tails[0] == b"$2\r\nf0\r\n$0\r\n\r\n"
    assert run[1] == [b"XADD", b"s", b"*", b"f1", b"\r\n"]


@pytest.mark.parametrize(
    "tail",
    [
        b"$1\r\na\r\n$1\r\nbXX",  # what is behind a word is not looked at
        b"$1\r\na\n\r$1\r\nb\r\n",
        b"$1\r\na\r\n+b\r\n",
        b"$1\r\na\r\n*1000\r\n",
        b"$1\r\na\r\n",
        b"$1\r\na\r\n" * 3,
    ],
)
def test_tails_that_are_no_plain_words_are_no_run(tail: bytes) -> None:
    head = b"*4\r\n$3\r\nSET\r\n$1\r\nk\r\n"
    plain = head + b"$1\r\na\r\n$1\r\nb\r\n"
    other = head + b"$1\r\nc\r\n$1\r\nd\r\n"
    assert isinstance(taken((plain + other) * 3, 2), TailRun)
    damaged = plain + other + head + tail + other + plain + other
    assert taken(damaged, 2) is None
    assert take_all(damaged, 2) == feed_all(damaged)


def test_a_value_with_the_head_in_it_ends_no_request_even_if_another_value_makes_up_for_it() -> (
    None
):
    head = [b"XADD", b"s", b"*"]
    start = encode_command([*head, b"f", b"v"]).partition(b"$1\r\nf")[0]
    inner = b"*2\r\n$1\r\ni\r\n$1\r\n1\r\n*2\r\n$1\r\ni\r\n$1\r\n2"
    for filling in range(40):
        tails = [[b"g%d" % number, b"="] for number in range(6)]
        tails[1:1] = [[b"f", b"x" + start + b"y"], [b"f", b"z" * filling + b"\r\n" + inner]]
        whole = tail_batch(head, tails)
        assert take_all(whole, 3) == feed_all(whole)


def test_a_head_that_contains_its_own_beginning_is_none() -> None:
    head = [b"XADD", b"\r\n*5\r\n", b"*"]
    assert taken(tail_batch(head, [[b"f%d" % number, b"v"] for number in range(9)]), 3) is None


def test_a_single_request_behind_a_run_of_tails_is_read_as_such() -> None:
    reader = RequestReader(Limits(), count_shared=lambda _: 2)
    tails = [[b"f%d" % number, b"v"] for number in range(9)]
    assert reader.take_run(tail_batch([b"SET", b"k"], tails))[0] is not None
    assert reader.take_single(tail_batch([b"SET", b"k"], tails)) is None
    request = [b"SET", b"k", b"f" * 50, b"v" * 500]
    assert reader.take_single(encode_command(request)) == request


def test_requests_that_differ_in_their_last_word_are_a_run() -> None:
    values = [b"1", b"twenty", b"", b"\r\n", b"x" * 99, b"$5\r\n"]
    run = taken(batch([b"XADD", b"s", b"*", b"f"], values))
    assert isinstance(run, RequestRun)
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
