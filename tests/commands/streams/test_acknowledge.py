"""XACK."""

from __future__ import annotations

import pytest

from server.inprocess import InProcessServer
from tests.commands.streams.talk import Talk

INVALID_ID = "ERR Invalid stream ID specified as stream command argument"


@pytest.fixture
def client(server: InProcessServer) -> Talk:
    """With three entries pending for one consumer."""
    client = Talk(server)
    client.all("XADD s 1-1 f v", "XADD s 2-1 f v", "XADD s 3-1 f v", "XGROUP CREATE s g 0")
    client.do("XREADGROUP GROUP g c STREAMS s >")
    return client


def test_the_number_of_entries_that_were_pending_is_answered(client: Talk) -> None:
    assert client.raw("XACK s g 1-1 1-1 9-9 3-1") == b":2\r\n"
    assert client.do("XPENDING s g") == [1, b"2-1", b"2-1", [[b"c", b"1"]]]
    assert client.do("XACK s g 1-1") == 0


def test_one_invalid_id_and_nothing_is_acknowledged(client: Talk) -> None:
    assert client.error("XACK s g 1-1 bad") == INVALID_ID
    assert client.error("XACK s g +") == INVALID_ID
    assert client.do("XPENDING s g")[0] == 3


def test_without_a_key_or_a_group_the_ids_are_not_looked_at(client: Talk) -> None:
    assert client.raw("XACK missing g bad") == b":0\r\n"
    assert client.raw("XACK s missing bad") == b":0\r\n"


def test_a_key_of_another_type_is_refused(client: Talk) -> None:
    client.do("SET string v")
    assert client.error("XACK string g bad").startswith("WRONGTYPE ")


def test_an_entry_that_was_deleted_can_be_acknowledged(client: Talk) -> None:
    client.do("XDEL s 2-1")
    assert client.do("XACK s g 2-1") == 1


def test_only_an_acknowledgement_that_changes_something_is_propagated_and_there_is_no_event(
    client: Talk, events: list[tuple[str, str]], propagated: list[str]
) -> None:
    client.do("XACK s g 9-9")
    client.do("XACK s g 1-1 9-9")
    assert propagated == ["XACK s g 1-1 9-9"]
    assert events == []


def test_a_transaction_that_watches_the_key_does_not_fail(
    client: Talk, server: InProcessServer
) -> None:
    client.do("WATCH s")
    assert Talk(server).do("XACK s g 1-1") == 1
    client.do("MULTI")
    assert client.raw("EXEC") == b"*0\r\n"
