"""XSETID."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessServer
from tests.commands.streams.talk import Talk

INVALID_ID = "ERR Invalid stream ID specified as stream command argument"
BELOW_TOP = "ERR The ID specified in XSETID is smaller than the target stream top item"
BELOW_DELETED = "ERR The ID specified in XSETID is smaller than current max_deleted_entry_id"


@pytest.fixture
def client(server: InProcessServer) -> Talk:
    """With a stream of two entries."""
    client = Talk(server)
    client.all("XADD s 1-1 f v", "XADD s 2-1 f v")
    return client


def test_the_last_id_is_set_and_the_next_one_is_above_it(client: Talk) -> None:
    assert client.raw("XSETID s 5-5") == b"+OK\r\n"
    assert client.do("XADD s 5-* f v") == b"5-6"


def test_the_last_id_may_go_back_to_the_top_entry(client: Talk) -> None:
    client.all("XSETID s 5-5", "XSETID s 2-1")
    assert client.fields("XINFO STREAM s")["last-generated-id"] == b"2-1"
    assert client.error("XSETID s 2-0") == BELOW_TOP


def test_of_an_empty_stream_it_may_go_back_to_the_greatest_deleted_id(client: Talk) -> None:
    client.all("XADD s 9-9 f v", "XDEL s 1-1", "XTRIM s MAXLEN 0")
    assert client.error("XSETID s 1-0") == BELOW_DELETED
    assert client.raw("XSETID s 1-1") == b"+OK\r\n"


def test_the_deleted_id_is_checked_before_the_top_entry(client: Talk) -> None:
    client.all("XADD s 3-1 f v", "XDEL s 1-1")
    assert client.error("XSETID s 1-0") == BELOW_DELETED
    assert client.error("XSETID s 1-2") == BELOW_TOP


def test_counters_are_set(client: Talk) -> None:
    client.do("XSETID s 5-5 ENTRIESADDED 10 maxdeletedid 3-3")
    info = client.fields("XINFO STREAM s")
    assert info["entries-added"] == 10
    assert info["max-deleted-entry-id"] == b"3-3"


def test_a_deleted_id_of_zero_leaves_the_old_one(client: Talk) -> None:
    client.all("XSETID s 5-5 MAXDELETEDID 3-3", "XSETID s 5-5 MAXDELETEDID 0-0")
    assert client.fields("XINFO STREAM s")["max-deleted-entry-id"] == b"3-3"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("bad", INVALID_ID),
        ("-", INVALID_ID),
        ("+", INVALID_ID),
        ("$", INVALID_ID),
        ("5-5 ENTRIESADDED -1", "ERR entries_added must be positive"),
        ("5-5 ENTRIESADDED x", "ERR value is not an integer or out of range"),
        ("5-5 MAXDELETEDID bad", INVALID_ID),
        (
            "5-5 MAXDELETEDID 5-6",
            "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id",
        ),
        ("5-5 ENTRIESADDED", "ERR syntax error"),
        ("5-5 MAXDELETEDID", "ERR syntax error"),
        ("5-5 FOO", "ERR syntax error"),
    ],
)
def test_bad_arguments_are_refused_before_the_key_is_looked_at(
    client: Talk, words: str, text: str
) -> None:
    client.do("SET string v")
    for key in ("s", "missing", "string"):
        assert client.error(f"XSETID {key} {words}") == text


def test_fewer_entries_added_than_there_are_is_refused(client: Talk) -> None:
    text = "ERR The entries_added specified in XSETID is smaller than the target stream length"
    assert client.error("XSETID s 5-5 ENTRIESADDED 1") == text
    assert client.fields("XINFO STREAM s")["last-generated-id"] == b"2-1"
    client.do("XTRIM s MAXLEN 0")
    assert client.raw("XSETID s 5-5 ENTRIESADDED 0") == b"+OK\r\n"


def test_there_must_be_a_stream(client: Talk) -> None:
    client.do("SET string v")
    assert client.error("XSETID missing 5-5") == "ERR no such key"
    assert client.error("XSETID string 5-5").startswith("WRONGTYPE ")
    assert client.do("EXISTS missing") == 0


def test_it_is_notified_and_propagated_as_it_was_sent(
    client: Talk, events: list[tuple[str, str]], propagated: list[str]
) -> None:
    client.error("XSETID s 0-1")
    client.do("XSETID s 5-5 ENTRIESADDED 7")
    assert events == [("xsetid", "s")]
    assert propagated == ["XSETID s 5-5 ENTRIESADDED 7"]


def test_a_transaction_that_watches_the_key_does_not_fail(
    client: Talk, server: InProcessServer
) -> None:
    client.do("WATCH s")
    Talk(server).do("XSETID s 5-5")
    client.do("MULTI")
    assert client.raw("EXEC") == b"*0\r\n"


def test_no_group_has_read_more_than_is_said_to_have_been_added(
    client: Talk, propagated: list[str]
) -> None:
    """Redis 8.2 reports a lag of -8, and writes a file that Redis 8.10 refuses (redis#15488)."""
    client.all(*(f"XADD ten 1-{i} f v" for i in range(1, 11)))
    client.all("XGROUP CREATE ten g 0", "XGROUP CREATE ten h 1-9")
    client.all("XREADGROUP GROUP g c STREAMS ten >", "XTRIM ten MAXLEN 2")
    for replay in (False, True):
        request = f"XSETID ten 1-10 ENTRIESADDED {3 - replay}"
        client.replay(request) if replay else client.do(request)
        groups = client.do("XINFO GROUPS ten")
        assert [fields[-3:] for fields in groups] == [[3 - replay, b"lag", 0], [None, b"lag", 1]]


def test_a_replayed_last_id_below_a_deletion_moves_that_as_well(client: Talk) -> None:
    """Redis 7.0 takes it; the greatest deleted ID is then one that is still to come."""
    client.all("XADD low 4-1 f v", "XADD low 5-1 f v", "XDEL low 5-1")
    client.replay("XSETID low 4-5")
    info = client.fields("XINFO STREAM low")
    assert (info["last-generated-id"], info["max-deleted-entry-id"]) == (b"4-5", b"4-5")


def test_counters_stop_at_the_greatest_number_and_the_stream_goes_on(client: Talk) -> None:
    most = 2**63 - 1
    client.all("XGROUP CREATE s g 0", f"XSETID s 2-1 ENTRIESADDED {most - 1}")
    client.all(f"XGROUP SETID s g 2-1 ENTRIESREAD {most - 1}", "XADD s 3-1 f v", "XADD s 4-1 f v")
    assert client.fields("XINFO STREAM s")["entries-added"] == most
    client.do("XREADGROUP GROUP g c STREAMS s >")
    [group] = client.do("XINFO GROUPS s")
    assert group[group.index(b"entries-read") + 1] == most
    assert group[group.index(b"lag") + 1] == 0
    copy = client.do("DUMP s")
    assert client.server.connect().execute("RESTORE", "copy", 0, copy) == b"+OK\r\n"
    assert client.fields("XINFO STREAM copy")["entries-added"] == most
