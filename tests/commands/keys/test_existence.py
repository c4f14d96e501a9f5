"""DEL, UNLINK, EXISTS, TOUCH, TYPE."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import Conversation


@pytest.mark.parametrize("command", ["DEL", "UNLINK"])
def test_removing_counts_and_notifies_the_keys_that_existed(
    talk: Conversation, command: str
) -> None:
    talk.all("MSET a 1 b 2", "XADD s 1-1 f v")
    assert talk.do(f"{command} a none s a") == b":2\r\n"
    assert talk.events() == ["del a", "del s"]
    assert talk.propagated() == [f"{command} a none s a"]
    assert talk.do("DBSIZE") == b":1\r\n"


def test_removing_nothing_is_not_propagated(talk: Conversation) -> None:
    assert talk.do("DEL none") == b":0\r\n"
    assert (talk.events(), talk.propagated()) == ([], [])


def test_an_expired_key_is_not_there_to_be_removed(talk: Conversation) -> None:
    talk.all("SET k v PX 10")
    talk.server.now_ms += 11
    assert talk.do("DEL k") == b":0\r\n"
    assert talk.events() == ["expired k"]
    assert talk.propagated() == ["DEL k"]


def test_exists_counts_a_key_as_often_as_it_is_named(talk: Conversation) -> None:
    talk.all("SET a 1")
    assert talk.do("EXISTS a none a") == b":2\r\n"
    assert talk.events() == ["keymiss none"]


@pytest.mark.parametrize(
    ("request_", "idle_s"),
    [("TOUCH k", 0), ("GET k", 0), ("EXISTS k", 7), ("TYPE k", 7), ("TTL k", 7)],
)
def test_looking_from_outside_does_not_count_as_use(
    talk: Conversation, request_: str, idle_s: int
) -> None:
    talk.all("SET k v")
    talk.server.now_ms += 7000
    talk.all(request_)
    assert talk.do("OBJECT IDLETIME k") == b":%d\r\n" % idle_s


def test_touch_counts_what_exists_and_ignores_no_touch(talk: Conversation) -> None:
    talk.all("SET k v")
    talk.client.state.no_touch = True
    talk.server.now_ms += 7000
    assert talk.do("TOUCH k none k") == b":2\r\n"
    assert talk.do("OBJECT IDLETIME k") == b":0\r\n"


def test_type_names_what_a_key_holds(talk: Conversation) -> None:
    talk.all("SET a 1", "XADD s 1-1 f v")
    assert talk.do("TYPE a") == b"+string\r\n"
    assert talk.do("TYPE s") == b"+stream\r\n"
    assert talk.do("TYPE none") == b"+none\r\n"


def test_a_removed_stream_wakes_who_reads_through_a_group(talk: Conversation) -> None:
    talk.all("XGROUP CREATE s g $ MKSTREAM")
    reader = talk.other()
    reader.do("XREADGROUP GROUP g c BLOCK 0 STREAMS s >")
    talk.all("DEL s")
    assert reader.received().startswith(b"-NOGROUP ")
