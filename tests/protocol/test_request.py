"""protocol/request.py: a request answers the same whether it owns its words or is a view."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.cutter import Cutter
from protocol.replies import command
from protocol.request import Request

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
    cutter.is_quick = True
    assert cutter.next()
    assert (cutter.words(), cutter.is_quick) == ([b"SET", b"b", b"c"], False)
    assert kept.words() == words == [b"GET", b"a"]
    assert not kept.is_quick


def test_only_a_view_that_was_kept_has_its_bytes() -> None:
    kept = viewed([b"GET", b"a"]).keep()
    assert kept.wire() == b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n"
    assert kept[1] == b"a"
    assert kept.wire() is None  # its words are at hand now
    assert Request([b"GET", b"a"]).wire() is None
