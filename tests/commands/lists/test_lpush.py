"""LPUSH, RPUSH, LPUSHX, RPUSHX."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import WRONG_TYPE, Conversation


def test_elements_are_pushed_one_after_the_other(talk: Conversation) -> None:
    assert talk.do("LPUSH k a b c") == b":3\r\n"
    assert talk.do("RPUSH k x y") == b":5\r\n"
    assert talk.do("LRANGE k 0 -1") == (
        b"*5\r\n$1\r\nc\r\n$1\r\nb\r\n$1\r\na\r\n$1\r\nx\r\n$1\r\ny\r\n"
    )
    assert talk.propagated() == ["LPUSH k a b c", "RPUSH k x y"]


@pytest.mark.parametrize("name", ["LPUSHX", "RPUSHX"])
def test_what_wants_a_list_creates_none(talk: Conversation, name: str) -> None:
    assert talk.do(f"{name} k a") == b":0\r\n"
    assert len(talk.server.instance.databases[0]) == 0
    assert (talk.events(), talk.propagated()) == ([], [])
    talk.all("RPUSH k a")
    assert talk.do(f"{name} k b c") == b":3\r\n"
    assert talk.events() == [f"{name[:5].lower()} k"]


@pytest.mark.parametrize("name", ["LPUSH", "RPUSH", "LPUSHX", "RPUSHX"])
def test_other_types_are_refused(talk: Conversation, name: str) -> None:
    talk.all("SET k v")
    assert talk.do(f"{name} k a") == WRONG_TYPE
    assert talk.do(f"{name} k").startswith(b"-ERR wrong number of arguments")
