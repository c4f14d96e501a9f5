"""XDEL."""

from __future__ import annotations

import pytest

from server.inprocess import InProcessServer
from tests.commands.streams.talk import Talk

INVALID_ID = "ERR Invalid stream ID specified as stream command argument"


@pytest.fixture
def client(server: InProcessServer) -> Talk:
    """With a stream of three entries."""
    client = Talk(server)
    client.all("XADD s 1-1 f v", "XADD s 2-1 f v", "XADD s 3-1 f v")
    return client


def test_the_number_of_entries_really_removed_is_answered(client: Talk) -> None:
    assert client.raw("XDEL s 1-1 2-1 2-1 9-9") == b":2\r\n"
    assert client.ids("s") == ["3-1"]
    assert client.do("XDEL s 1-1") == 0


def test_an_id_without_a_sequence_is_the_first_of_its_millisecond(client: Talk) -> None:
    client.do("XADD s 4-0 f v")
    assert client.do("XDEL s 4") == 1


def test_one_invalid_id_and_nothing_is_removed(client: Talk) -> None:
    assert client.error("XDEL s 1-1 bad") == INVALID_ID
    assert client.error("XDEL s -") == INVALID_ID
    assert client.do("XLEN s") == 3


def test_without_a_key_the_ids_are_not_looked_at(client: Talk) -> None:
    client.do("SET string v")
    assert client.do("XDEL missing bad") == 0
    assert client.error("XDEL string bad").startswith("WRONGTYPE ")


def test_an_empty_stream_stays(client: Talk) -> None:
    client.do("XDEL s 1-1 2-1 3-1")
    assert client.do("TYPE s") == b"stream"
    assert client.do("XADD s 3-* f v") == b"3-2"


def test_deletions_are_remembered_by_their_greatest_id(client: Talk) -> None:
    client.do("XDEL s 2-1")
    client.do("XDEL s 1-1")
    info = client.fields("XINFO STREAM s")
    assert info["max-deleted-entry-id"] == b"2-1"
    assert info["recorded-first-entry-id"] == b"3-1"


def test_pending_entries_stay_pending(client: Talk) -> None:
    client.all("XGROUP CREATE s g 0", "XREADGROUP GROUP g c STREAMS s >", "XDEL s 2-1")
    assert client.do("XPENDING s g")[0] == 3


def test_one_event_and_the_request_itself_are_told_if_something_was_removed(
    client: Talk, events: list[tuple[str, str]], propagated: list[str]
) -> None:
    client.do("XDEL s 9-9")
    assert events == []
    client.do("XDEL s 1-1 2-1 9-9")
    assert events == [("xdel", "s")]
    assert propagated == ["XDEL s 1-1 2-1 9-9"]


def test_a_deletion_fails_a_transaction_that_watches_the_key(
    client: Talk, server: InProcessServer
) -> None:
    client.do("WATCH s")
    Talk(server).do("XDEL s 1-1")
    client.do("MULTI")
    assert client.raw("EXEC") == b"*-1\r\n"


def test_a_waiter_gets_an_entry_that_the_same_cycle_removes(
    client: Talk, server: InProcessServer
) -> None:
    reader = Talk(server)
    reader.raw("XREAD BLOCK 0 STREAMS s $")
    client.pipeline("XADD s 4-1 f v", "XDEL s 4-1")
    assert reader.received()[0][1][0][0] == b"4-1"
