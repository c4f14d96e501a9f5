"""commands/lists/ends.py: the events of pushes and pops."""

from __future__ import annotations

import pytest

from commands.lists.ends import LEFT, RIGHT, parse_side
from protocol.errors import ReplyError
from tests.commands.keys.conversation import Conversation


def test_a_side_may_be_in_any_case() -> None:
    assert (parse_side(b"left"), parse_side(b"Right")) == (LEFT, RIGHT)
    with pytest.raises(ReplyError):
        parse_side(b"middle")


def test_a_new_list_is_announced_first_and_an_empty_one_last(talk: Conversation) -> None:
    talk.do("RPUSH k a b")
    assert talk.events() == ["new k", "rpush k"]
    talk.do("LPOP k")
    assert talk.events() == ["lpop k"]
    talk.do("LPOP k")
    assert talk.events() == ["lpop k", "del k"]
    assert talk.do("EXISTS k") == b":0\r\n"


def test_every_element_counts_as_a_change(talk: Conversation) -> None:
    before = talk.server.instance.dirty
    talk.do("RPUSH k a b c")
    assert talk.server.instance.dirty == before + 3
    talk.do("RPOP k 2")
    assert talk.server.instance.dirty == before + 5


def test_watched_lists_fail_transactions(talk: Conversation) -> None:
    talk.all("RPUSH k a")
    for request in ("RPUSH k b", "LPOP k", "LSET k 0 z", "LTRIM k 0 -1"):
        talk.do("WATCH k")
        talk.other().do(request)
        talk.do("MULTI")
        talk.do("PING")
        assert talk.do("EXEC") == b"*-1\r\n", request


def test_an_emptied_list_loses_its_deadline(talk: Conversation) -> None:
    talk.all("RPUSH k a", "EXPIRE k 100", "LPOP k", "RPUSH k a")
    assert talk.do("TTL k") == b":-1\r\n"


def test_the_encoding_follows_the_limits(talk: Conversation) -> None:
    talk.all("CONFIG SET list-max-listpack-size 4", "RPUSH k a b c d")
    assert talk.do("OBJECT ENCODING k") == b"$8\r\nlistpack\r\n"
    talk.all("RPUSH k e")
    assert talk.do("OBJECT ENCODING k") == b"$9\r\nquicklist\r\n"
    talk.all("RPOP k 2")
    assert talk.do("OBJECT ENCODING k") == b"$9\r\nquicklist\r\n"
    talk.all("RPOP k")
    assert talk.do("OBJECT ENCODING k") == b"$8\r\nlistpack\r\n"
