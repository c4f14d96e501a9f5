"""XDEL, XDELEX and XDELRANGE."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessServer
from storage.nodes.frozen_node import Node
from storage.nodes.node_list import NodeList
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


def test_an_id_without_its_time_is_none(client: Talk, propagated: list[str]) -> None:
    client.all("XADD t 0-1 f v")
    propagated.clear()
    for request in ("XDEL t -1", "XDEL t 0-1 -1", "XDELEX t IDS 1 -1"):
        assert client.error(request).startswith("ERR Invalid stream ID")
    assert client.do("XLEN t") == 1
    assert propagated == []


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


def test_a_removal_is_notified_once_and_propagated_as_it_was_sent(
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


# -- XDELEX ------------------------------------------------------------------------------------


@pytest.fixture
def groups(client: Talk) -> Talk:
    """Two groups were given 1-1 and 2-1; group one has acknowledged both, and group two 1-1."""
    client.all("XGROUP CREATE s one 0", "XGROUP CREATE s two 0")
    client.all("XREADGROUP GROUP one c COUNT 2 STREAMS s >", "XACK s one 1-1 2-1")
    client.all("XREADGROUP GROUP two c COUNT 2 STREAMS s >", "XACK s two 1-1")
    return client


def test_each_id_has_its_own_answer(client: Talk) -> None:
    assert client.raw("XDELEX s IDS 3 1-1 9-9 1-1") == b"*3\r\n:1\r\n:-1\r\n:-1\r\n"
    assert client.ids("s") == ["2-1", "3-1"]


def test_without_a_policy_references_are_kept(groups: Talk) -> None:
    assert groups.do("XDELEX s IDS 1 2-1") == [1]
    assert groups.do("XDELEX s KEEPREF IDS 1 3-1") == [1]
    assert groups.do("XPENDING s two")[0] == 1


def test_delref_takes_an_entry_out_of_every_group(groups: Talk) -> None:
    groups.do("XGROUP CREATE s three 0")
    groups.do("XREADGROUP GROUP three c STREAMS s >")
    assert groups.do("XDELEX s DELREF IDS 2 2-1 1-1") == [1, 1]
    assert groups.do("XPENDING s two")[0] == 0
    assert groups.do("XPENDING s three - + 9")[0][0] == b"3-1"
    assert groups.do("XINFO CONSUMERS s two")[0][3] == 0


def test_delref_drops_references_to_a_deleted_entry(
    groups: Talk, propagated: list[str], events: list[tuple[str, str]]
) -> None:
    groups.do("XDEL s 2-1")
    del propagated[:], events[:]
    assert groups.do("XDELEX s DELREF IDS 1 2-1") == [-1]
    assert groups.do("XPENDING s two")[0] == 0
    assert (propagated, events) == (["XACK s two 2-1"], [])


def test_acked_spares_what_a_group_has_not_acknowledged_or_was_not_given(groups: Talk) -> None:
    assert groups.do("XDELEX s ACKED IDS 4 1-1 2-1 3-1 9-9") == [1, 2, 2, 2]
    assert groups.ids("s") == ["2-1", "3-1"]
    groups.do("XACK s two 2-1")
    assert groups.do("XDELEX s ACKED IDS 2 2-1 1-1") == [1, -1]


def test_acked_deletes_where_there_is_no_group(client: Talk) -> None:
    assert client.do("XDELEX s ACKED IDS 2 1-1 9-9") == [1, -1]


def test_a_group_that_is_destroyed_refers_to_nothing(groups: Talk) -> None:
    groups.do("XGROUP CREATE s behind 0")
    assert groups.do("XDELEX s ACKED IDS 2 1-1 2-1") == [2, 2]
    groups.do("XGROUP DESTROY s behind")
    assert groups.do("XDELEX s ACKED IDS 2 1-1 2-1") == [1, 2]
    groups.do("XGROUP DESTROY s two")
    assert groups.do("XDELEX s ACKED IDS 1 2-1") == [1]


def test_an_unowned_entry_is_a_reference(groups: Talk) -> None:
    groups.do("XNACK s two FAIL IDS 1 2-1")
    assert groups.do("XDELEX s ACKED IDS 1 2-1") == [2]
    assert groups.do("XDELEX s DELREF IDS 1 2-1") == [1]
    assert groups.do("XPENDING s two")[0] == 0


def test_xdelex_of_a_missing_key_finds_nothing(client: Talk) -> None:
    assert client.do("XDELEX missing ACKED IDS 2 1-1 2-1") == [-1, -1]
    assert client.error("XDELEX missing IDS 1 bad") == INVALID_ID
    client.do("SET string v")
    assert client.error("XDELEX string IDS 1 1-1").startswith("WRONGTYPE ")
    assert client.error("XDELEX s IDS 2") == "ERR wrong number of arguments for 'xdelex' command"


def test_xdelex_answers_in_the_order_of_the_ids_and_deletes_each_once(groups: Talk) -> None:
    assert groups.do("XDELEX s ACKED IDS 5 3-1 1-1 9-9 1-1 2-1") == [2, 1, 2, -1, 2]
    assert groups.do("XDELEX s IDS 6 3-1 1-1 9-9 3-1 2-1 3-1") == [1, -1, -1, -1, 1, -1]


@pytest.mark.interpreted  # counts calls, which compiled code makes without looking them up
def test_very_many_ids_are_looked_for_a_node_at_a_time(
    server: InProcessServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.instance.config.set("stream-node-max-entries", ["10"])
    client = Talk(server)
    client.all(*(f"XADD many {n}-0 f v" for n in range(1, 201)))
    looks: list[int] = []
    find = NodeList.find

    def counting(nodes: NodeList, entry_id: int) -> Node | None:
        looks.append(entry_id)
        return find(nodes, entry_id)

    monkeypatch.setattr(NodeList, "find", counting)
    ids = " ".join(f"{n}-0" for n in range(200, 0, -1) if n % 7)
    assert client.do(f"XDEL many {ids}") == 200 - 200 // 7
    assert 0 < len(looks) <= 2 * 20  # once before anything is deleted
    assert client.ids("many") == [f"{n}-0" for n in range(7, 200, 7)]


def test_one_invalid_id_and_xdelex_deletes_nothing(client: Talk) -> None:
    assert client.error("XDELEX s IDS 2 1-1 bad") == INVALID_ID
    assert len(client.ids("s")) == 3


def test_xdelex_notifies_and_propagates_as_xdel_does(
    groups: Talk, events: list[tuple[str, str]], propagated: list[str], server: InProcessServer
) -> None:
    groups.do("XDELEX s ACKED IDS 2 2-1 9-9")
    assert (events, propagated) == ([], [])
    groups.do("WATCH s")
    Talk(server).do("XDELEX s IDS 3 3-1 9-9 1-1")
    assert events == [("xdel", "s")]
    assert propagated == ["XDEL s 1-1 3-1"]
    groups.do("MULTI")
    assert groups.raw("EXEC") == b"*-1\r\n"
    info = groups.fields("XINFO STREAM s")
    assert (info["max-deleted-entry-id"], info["recorded-first-entry-id"]) == (b"3-1", b"2-1")


# -- XDELRANGE ---------------------------------------------------------------------------------


@pytest.fixture
def long(server: InProcessServer) -> Talk:
    """Ten entries in nodes of three. Group one acknowledged all but 2-1, two all up to 6-1."""
    server.instance.config.stream_node_max_entries = 3
    client = Talk(server)
    client.all(*(f"XADD s {n}-1 f v" for n in range(1, 11)))
    client.all("XGROUP CREATE s one 0", "XGROUP CREATE s two 0")
    client.all("XREADGROUP GROUP one c STREAMS s >", "XREADGROUP GROUP two c COUNT 7 STREAMS s >")
    client.all("XACK s one 1-1 3-1 4-1 5-1 6-1 7-1 8-1 9-1 10-1")
    client.all("XACK s two 1-1 2-1 3-1 4-1 5-1 6-1")
    return client


def left(client: Talk) -> list[int]:
    return [int(text.partition("-")[0]) for text in client.ids("s")]


@pytest.mark.parametrize(
    ("words", "remaining"),
    [
        ("- +", []),
        ("4 6", [1, 2, 3, 7, 8, 9, 10]),
        ("(4-1 (6-1", [1, 2, 3, 4, 6, 7, 8, 9, 10]),
        ("2 9", [1, 10]),
        ("5 5", [1, 2, 3, 4, 6, 7, 8, 9, 10]),
        ("- + COUNT 4", [5, 6, 7, 8, 9, 10]),
        ("3 + count 5", [1, 2, 8, 9, 10]),
        ("6 4", list(range(1, 11))),
        ("11 +", list(range(1, 11))),
        ("- 0", list(range(1, 11))),
    ],
)
def test_a_range_is_removed(long: Talk, words: str, remaining: list[int]) -> None:
    assert long.do(f"XDELRANGE s {words}") == 10 - len(remaining)
    assert left(long) == remaining
    assert long.do("XLEN s") == len(remaining)
    assert long.do("XPENDING s one")[0] == 1


def test_the_greatest_deleted_id_is_that_of_the_range(long: Talk) -> None:
    long.do("XDELRANGE s 4 6")
    assert long.fields("XINFO STREAM s")["max-deleted-entry-id"] == b"6-1"
    long.do("XDELRANGE s - 2")
    assert long.fields("XINFO STREAM s")["max-deleted-entry-id"] == b"6-1"
    assert long.do("XDELRANGE s - +") == 5
    info = long.fields("XINFO STREAM s")
    assert (info["max-deleted-entry-id"], info["entries-added"]) == (b"10-1", 10)


def test_delref_drops_what_is_pending_in_the_range(long: Talk) -> None:
    assert long.do("XDELRANGE s - 3 DELREF") == 3
    assert long.do("XPENDING s one")[0] == 0
    assert long.do("XPENDING s two")[0] == 1


def test_delref_with_a_count_drops_references_up_to_the_last_entry_it_removes(long: Talk) -> None:
    long.do("XDEL s 2-1")
    assert long.do("XDELRANGE s - + COUNT 1 DELREF") == 1
    assert long.do("XPENDING s one")[0] == 1
    assert long.do("XDELRANGE s - + COUNT 1 DELREF") == 1
    assert long.do("XPENDING s one")[0] == 0


def test_acked_removes_what_no_group_needs(long: Talk) -> None:
    assert long.do("XDELRANGE s - + ACKED") == 5
    assert left(long) == [2, 7, 8, 9, 10]
    long.do("XACK s one 2-1")
    assert long.do("XDELRANGE s - + ACKED COUNT 3") == 1


@pytest.mark.parametrize(
    ("words", "effects"),
    [
        ("- 4", ["XTRIM s MINID = 5-1", "XSETID s 10-1 ENTRIESADDED 10 MAXDELETEDID 4-1"]),
        ("- +", ["XTRIM s MAXLEN = 0", "XSETID s 10-1 ENTRIESADDED 10 MAXDELETEDID 10-1"]),
        ("3 5", ["XDEL s 3-1 4-1 5-1"]),
        ("3 5 DELREF", ["XDEL s 3-1 4-1 5-1"]),
        ("6 + DELREF", ["XACK s two 7-1", "XDEL s 6-1 7-1 8-1 9-1 10-1"]),
        ("- 2 ACKED", ["XTRIM s MINID = 2-1", "XSETID s 10-1 ENTRIESADDED 10 MAXDELETEDID 1-1"]),
        ("- + ACKED", ["XDEL s 1-1 3-1 4-1 5-1 6-1"]),
        ("7 + ACKED", []),
    ],
)
def test_a_range_is_propagated_in_words_that_every_redis_knows(
    long: Talk, propagated: list[str], words: str, effects: list[str]
) -> None:
    long.do(f"XDELRANGE s {words}")
    if len(effects) > 1:
        effects = ["MULTI", *effects, "EXEC"]
    assert propagated == effects


def test_a_range_is_one_event_and_fails_a_transaction_that_watches_the_key(
    long: Talk, server: InProcessServer, events: list[tuple[str, str]]
) -> None:
    long.do("WATCH s")
    other = Talk(server)
    assert other.do("XDELRANGE s 20 +") == 0
    assert events == []
    assert other.do("XDELRANGE s 3 5") == 3
    assert events == [("xdel", "s")]
    long.do("MULTI")
    assert long.raw("EXEC") == b"*-1\r\n"


def test_a_wrong_word_of_a_range_is_refused_before_the_key_is_looked_up(long: Talk) -> None:
    long.do("SET string v")
    for words, error in (
        ("x +", INVALID_ID),
        ("- (", INVALID_ID),
        ("(18446744073709551615-18446744073709551615 +", "ERR invalid start ID for the interval"),
        ("- (0-0", "ERR invalid end ID for the interval"),
        ("- + COUNT 0", "ERR COUNT must be > 0"),
        ("- + COUNT x", "ERR COUNT must be > 0"),
        ("- + COUNT 9223372036854775808", "ERR COUNT must be > 0"),
        ("- + COUNT 1 COUNT 1", "ERR COUNT specified multiple times"),
        ("- + COUNT", "ERR syntax error"),
        ("- + LIMIT 1", "ERR syntax error"),
        ("- + DELREF ACKED", "ERR syntax error"),
    ):
        for key in ("s", "missing", "string"):
            assert long.error(f"XDELRANGE {key} {words}") == error
    assert long.do("XDELRANGE missing - +") == 0
    assert long.error("XDELRANGE string - +").startswith("WRONGTYPE ")
    assert len(left(long)) == 10


def test_a_waiter_gets_entries_that_the_same_cycle_removes_as_a_range(
    client: Talk, server: InProcessServer
) -> None:
    reader = Talk(server)
    reader.raw("XREAD BLOCK 0 STREAMS s $")
    client.pipeline("XADD s 4-1 f v", "XDELRANGE s - +")
    assert reader.received()[0][1][0][0] == b"4-1"
