"""Requests answer the same as words and as views; what the cutter finds; hash slots."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.replies import command
from protocol.request import Cutter, Request, key_slot, pattern_slot
from protocol.requests import Limits, RequestReader
from tests.support.examples import examples

WORDS = st.lists(st.binary(max_size=12), min_size=2, max_size=12)
Form: TypeAlias = Callable[[list[bytes]], Request]


def viewed(words: list[bytes]) -> Cutter:
    cutter = Cutter()
    cutter.load(command(words))
    assert cutter.next()
    return cutter


FORMS: dict[str, Form] = {
    "words": Request,
    "view": viewed,
    "view that was kept": lambda words: viewed(words).keep(),
    "words that were kept": lambda words: Request(words).keep(),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@given(words=WORDS)
def test_each_form_answers_as_a_list_does(form: Form, words: list[bytes]) -> None:
    request = form(words)
    assert (len(request), request.count) == (len(words), len(words))
    assert list(request) == request.words() == words
    assert [request[index] for index in range(-len(words), len(words))] == words + words
    assert (request[1:], request[-1:], request[::2]) == (words[1:], words[-1:], words[::2])
    with pytest.raises(IndexError):
        request[len(words)]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@given(words=WORDS, chance=st.data())
def test_each_form_answers_typed_questions_alike(
    form: Form, words: list[bytes], chance: st.DataObject
) -> None:
    request = form(words)
    index = chance.draw(st.integers(1, len(words) - 1))
    end = chance.draw(st.integers(index, len(words) - 1))
    bulks = [b"$%d\r\n%b\r\n" % (len(word), word) for word in words]
    header = b"*%d\r\n" % len(words)
    assert request.word(index) == words[index]
    assert [request.is_word(index, word) for word in words] == [
        word == words[index] for word in words
    ]
    assert request.is_byte(index, ord("*")) == (words[index] == b"*")
    assert request.words_bytes() == sum(map(len, words))
    assert request.head(index) == header + b"".join(bulks[:index])
    assert request.part(index, end) == b"".join(bulks[index:end])
    assert request.tail(index) == b"".join(bulks[index:])
    assert request.whole() == header + b"".join(bulks)
    assert request.identity() == form(words).identity() != form([*words, b"x"]).identity()


def test_a_view_changes_with_the_next_request_and_what_was_kept_does_not() -> None:
    cutter = Cutter()
    cutter.load(command([b"GET", b"a"]) + command([b"SET", b"b", b"c"]))
    assert cutter.next()
    kept, words = cutter.keep(), cutter.words()
    cutter.takes_long = True
    assert cutter.next()
    assert (cutter.words(), cutter.takes_long) == ([b"SET", b"b", b"c"], False)
    assert kept.words() == words == [b"GET", b"a"]
    assert not kept.takes_long


def test_only_a_view_that_was_kept_has_its_bytes() -> None:
    kept = viewed([b"GET", b"a"]).keep()
    assert kept.wire() == b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n"
    assert kept[1] == b"a"
    assert kept.wire() is None  # its words are at hand now
    assert Request([b"GET", b"a"]).wire() is None


# -- the cutter --------------------------------------------------------------------------------


def cut(data: bytes) -> tuple[list[list[bytes]], int]:
    """The requests that are found, and where the cutter stops."""
    cutter, requests = Cutter(), []
    cutter.load(data)
    while cutter.next():
        requests.append(cutter.words())
    return requests, cutter.position


def test_whole_requests_are_found_one_after_the_other() -> None:
    data = command([b"PING"]) + command([b"SET", b"", b"a\r\nb"])
    assert cut(data) == ([[b"PING"], [b"SET", b"", b"a\r\nb"]], len(data))


def test_a_request_that_has_not_come_whole_is_left() -> None:
    first, second = command([b"GET", b"k"]), command([b"SET", b"key", b"v" * 12])
    for end in range(len(second)):
        assert cut(first + second[:end]) == ([[b"GET", b"k"]], len(first))


@pytest.mark.parametrize(
    "odd",
    [
        b"PING\r\n",
        b"\r\n",
        b"*0\r\n",
        b"*-1\r\n",
        b"*01\r\n$4\r\nPING\r\n",
        b"*1\n$4\r\nPING\r\n",
        b"*1\r\n$04\r\nPING\r\n",
        b"*1\r\n$-1\r\n",
        b"*1\r\n$+4\r\nPING\r\n",
        b"*1\r\n:4\r\nPING\r\n",
        b"*1\r\n$4\r\nPINGxx",
        b"*1\r\n$4\nPING\r\n",
        b"*1\r\n$\r\nPING\r\n",
        b"*+1\r\n$4\r\nPING\r\n",
        b"*1 \r\n$4\r\nPING\r\n",
        b"*\r\n$4\r\nPING\r\n",
        b"*999999999999\r\n$4\r\nPING\r\n",
        b"*1\r\n$999999999999\r\nPING\r\n",
        b"*1\r\n$4\r\nPIN\r\n\r\n"[:-1],
    ],
)
def test_the_cutter_stops_in_front_of_anything_odd(odd: bytes) -> None:
    first = command([b"PING"])
    assert cut(first + odd) == ([[b"PING"]], len(first))


def test_a_request_may_have_very_many_words_and_room_for_them_is_not_kept() -> None:
    argv = [b"w%d" % number for number in range(10_000)]
    data = command(argv)
    assert cut(data + command([b"PING"])) == ([argv, [b"PING"]], len(data) + 14)
    assert cut(b"*%d\r\n$1\r\nw\r\n" % 10**9) == ([], 0)


def test_words_can_be_had_as_they_came() -> None:
    cutter = Cutter()
    cutter.load(command([b"XADD", b"key", b"*", b"f", b"", b"g", b"\r\n"]))
    assert cutter.next()
    assert cutter.count == 7
    assert cutter.word(1) == b"key"
    assert cutter.slot(1) == key_slot(b"key")
    assert cutter.head(2) == b"*7\r\n$4\r\nXADD\r\n$3\r\nkey\r\n"
    assert cutter.words_bytes() == 12
    assert cutter.is_byte(2, ord("*"))
    assert not cutter.is_byte(1, ord("k"))
    assert not cutter.is_byte(4, ord("*"))
    assert cutter.tail(3) == b"$1\r\nf\r\n$0\r\n\r\n$1\r\ng\r\n$2\r\n\r\n\r\n"
    assert cutter.head(6) + cutter.tail(6) == cutter.whole()
    assert cutter.head(2) + cutter.part(2, 5) + cutter.tail(5) == cutter.whole()
    assert cutter.part(1, 2) == b"$3\r\nkey\r\n"
    assert cutter.part(3, 3) == b""


ARGV = st.lists(
    st.binary(max_size=6) | st.sampled_from([b"\r\n", b"*1\r\n", b"$3\r\nabc\r\n", b"x" * 120]),
    min_size=1,
    max_size=12,
)
PIECES = st.one_of(
    ARGV.map(command),
    st.sampled_from([b"PING\r\n", b"*0\r\n", b"\r\n", b"*1\r\n$1\r\n", b"$", b"*2\r\n", b"\n"]),
    st.binary(max_size=4),
)


@settings(max_examples=examples(500))
@given(st.lists(PIECES, max_size=8).map(b"".join), st.data())
def test_the_cutter_finds_what_the_parser_reads(data: bytes, chance: st.DataObject) -> None:
    data = data[: chance.draw(st.integers(0, len(data)))]
    requests, position = cut(data)
    scanner = RequestReader(Limits(max_inline_bytes=20), Cutter())  # which rules out the cutter
    scanner.feed(data[:position])
    assert [request.words() for request in iter(scanner.next, None)] == requests
    assert scanner.is_between()


# -- hash slots --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "slot"),
    [
        (b"123456789", 0x31C3),
        (b"foo", 12182),
        (b"a", 15495),
        (b"b", 3300),
        (b"", 0),
        (b"{a}{b}", 15495),
        (b"x{a}y", 15495),
        (b"}{a}", 15495),
        (b"x{{foo}", key_slot(b"{foo")),
    ],
)
def test_the_slot_of_a_key_is_that_of_its_tag(key: bytes, slot: int) -> None:
    assert key_slot(key) == slot


def test_an_empty_tag_is_none() -> None:
    assert key_slot(b"{}a") != key_slot(b"{}b")
    assert key_slot(b"{}{a}") != key_slot(b"a")


@pytest.mark.parametrize(
    ("pattern", "slot"),
    [
        (b"{a}*", 15495),
        (b"x{a}?", 15495),
        (b"a", 15495),
        (b"*{a}", None),
        (b"{a*}", None),
        (b"{}*{a}", None),
        (b"x\\{a}", None),
        (b"[ab]", None),
        (b"b*", None),
    ],
)
def test_a_pattern_has_a_slot_if_all_that_match_it_do(pattern: bytes, slot: int | None) -> None:
    assert pattern_slot(pattern) == slot
