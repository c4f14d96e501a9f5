"""HSCAN and HRANDFIELD."""

from __future__ import annotations

from collections import Counter

import hiredis
import pytest

from commands.hashes.fields import MANY_FIELDS
from tests.commands.keys.conversation import NIL, Conversation


def read(talk: Conversation, request: str) -> object:
    reader = hiredis.Reader(encoding="utf-8")
    reader.feed(talk.do(request))
    return reader.gets()


def fill(talk: Conversation, count: int) -> None:
    talk.client.execute("HSET", "h", *[word for n in range(count) for word in (f"f{n}", f"v{n}")])


# -- HSCAN ---------------------------------------------------------------------------------------


def test_a_large_hash_is_scanned_step_by_step(talk: Conversation) -> None:
    fill(talk, 1000)
    seen: dict[str, str] = {}
    cursor, calls = "0", 0
    while True:
        reply = read(talk, f"HSCAN h {cursor} COUNT 100")
        assert isinstance(reply, list)
        cursor, words = reply
        seen.update(zip(words[::2], words[1::2], strict=True))
        calls += 1
        if cursor == "0":
            break
    assert 5 < calls < 20
    assert seen == {f"f{n}": f"v{n}" for n in range(1000)}


# -- HRANDFIELD ----------------------------------------------------------------------------------


def test_a_field_is_chosen(talk: Conversation) -> None:
    fill(talk, 5)
    chosen = {read(talk, "HRANDFIELD h") for _ in range(60)}
    assert chosen == {f"f{n}" for n in range(5)}
    assert talk.do("HRANDFIELD no") == NIL
    assert talk.do("HRANDFIELD no 3") == talk.do("HRANDFIELD h 0") == b"*0\r\n"


@pytest.mark.parametrize("size", [5, 40, 700])
@pytest.mark.parametrize("count", [1, 3, 20, 699])
def test_a_count_gives_different_fields(talk: Conversation, size: int, count: int) -> None:
    fill(talk, size)
    names = read(talk, f"HRANDFIELD h {count}")
    assert isinstance(names, list)
    assert len(names) == len(set(names)) == min(size, count)
    assert set(names) <= {f"f{n}" for n in range(size)}


def test_a_negative_count_may_repeat(talk: Conversation) -> None:
    fill(talk, 4)
    names = read(talk, "HRANDFIELD h -400")
    assert isinstance(names, list)
    counts = Counter(names)
    assert counts.total() == 400
    assert len(counts) == 4 and min(counts.values()) > 50


@pytest.mark.parametrize("sign", ["", "-"])
def test_many_are_answered_whole(talk: Conversation, sign: str) -> None:
    count = MANY_FIELDS + 500
    fill(talk, count)
    words = read(talk, f"HRANDFIELD h {sign}{count} WITHVALUES")
    assert isinstance(words, list)
    assert len(words) == 2 * count
    assert all(name[1:] == text[1:] for name, text in zip(words[::2], words[1::2], strict=True))
    assert (len(set(words[::2])) == count) is (not sign)
