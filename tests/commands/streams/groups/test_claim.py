"""XCLAIM and XAUTOCLAIM."""

from __future__ import annotations

from typing import Any

import pytest

from server.inprocess.server import InProcessServer
from tests.commands.streams.talk import NOW_MS, Talk, entry

SYNTAX = "ERR syntax error"
INVALID_ID = "ERR Invalid stream ID specified as stream command argument"
MAX = "18446744073709551615"
CLAIM = "XCLAIM s g d"
AUTOCLAIM = "XAUTOCLAIM s g d"


@pytest.fixture
def client(server: InProcessServer) -> Talk:
    """Three of five entries are pending for consumer c, for 1000 ms."""
    client = Talk(server)
    client.all(*(f"XADD s {i}-1 f v" for i in range(1, 6)), "XGROUP CREATE s g 0")
    server.now_ms = NOW_MS - 1000
    client.do("XREADGROUP GROUP g c COUNT 3 STREAMS s >")
    server.now_ms = NOW_MS
    return client


def pending(client: Talk) -> list[tuple[str, str, int, int]]:
    """(ID, consumer, idle ms, deliveries) of all pending entries."""
    return [
        (entry_id.decode(), name.decode(), idle, count)
        for entry_id, name, idle, count in client.do("XPENDING s g - + 100")
    ]


def consumers(client: Talk) -> dict[str, dict[str, Any]]:
    rows = [
        {k.decode(): v for k, v in zip(flat[::2], flat[1::2], strict=True)}
        for flat in client.do("XINFO CONSUMERS s g")
    ]
    return {row["name"].decode(): row for row in rows}


# -- XCLAIM ------------------------------------------------------------------------------------


def test_claimed_entries_change_hands_and_are_returned(client: Talk) -> None:
    assert client.do(f"{CLAIM} 0 1-1 3-1") == [entry("1-1", "f", "v"), entry("3-1", "f", "v")]
    assert pending(client) == [("1-1", "d", 0, 2), ("2-1", "c", 1000, 1), ("3-1", "d", 0, 2)]
    assert consumers(client)["c"]["pending"] == 1


def test_entries_come_in_the_order_of_the_request(client: Talk) -> None:
    assert client.do(f"{CLAIM} 0 3-1 1-1 3-1 JUSTID") == [b"3-1", b"1-1", b"3-1"]


def test_only_entries_that_are_idle_for_long_enough_are_claimed(client: Talk) -> None:
    assert client.raw(f"{CLAIM} 1001 1-1") == b"*0\r\n"
    assert client.do(f"{CLAIM} 1000 1-1 JUSTID") == [b"1-1"]
    assert client.raw(f"{CLAIM} 1 1-1") == b"*0\r\n"
    assert client.do(f"{CLAIM} -5 1-1 JUSTID") == [b"1-1"]


@pytest.mark.parametrize("request_", [f"{CLAIM} 0 1-1", f"{AUTOCLAIM} 0 0 COUNT 1"])
def test_without_a_minimum_all_are_idle_even_if_the_clock_stepped_back(
    client: Talk, server: InProcessServer, request_: str
) -> None:
    server.now_ms -= 5000
    client.do(request_)
    assert pending(client)[0] == ("1-1", "d", 0, 2)


def test_with_justid_only_ids_are_returned_and_the_count_stays(client: Talk) -> None:
    assert client.raw(f"{CLAIM} 0 1-1 JUSTID") == b"*1\r\n$3\r\n1-1\r\n"
    assert pending(client)[0] == ("1-1", "d", 0, 1)


def test_one_may_claim_ones_own_entry(client: Talk) -> None:
    client.do("XCLAIM s g c 0 1-1")
    assert pending(client)[0] == ("1-1", "c", 0, 2)


def test_entries_that_are_not_pending_are_ignored(client: Talk) -> None:
    assert client.raw(f"{CLAIM} 0 4-1 9-9") == b"*0\r\n"
    assert len(pending(client)) == 3


def test_force_makes_an_entry_pending_that_was_not(client: Talk) -> None:
    assert client.do(f"{CLAIM} 5000 4-1 9-9 FORCE") == [entry("4-1", "f", "v")]
    assert client.do(f"{CLAIM} 5000 5-1 FORCE JUSTID") == [b"5-1"]
    assert pending(client)[3:] == [("4-1", "d", 0, 2), ("5-1", "d", 0, 1)]


def test_force_also_works_below_entries_that_are_pending(client: Talk) -> None:
    client.do("XACK s g 1-1")
    client.do(f"{CLAIM} 0 1-1 FORCE RETRYCOUNT 7")
    assert pending(client)[0] == ("1-1", "d", 0, 7)


def test_an_entry_whose_content_is_gone_is_dropped_and_not_returned(client: Talk) -> None:
    client.do("XDEL s 2-1")
    assert client.do(f"{CLAIM} 5000 2-1") == []
    assert [row[0] for row in pending(client)] == ["1-1", "3-1"]
    assert consumers(client)["c"]["pending"] == 2


@pytest.mark.parametrize(
    ("option", "idle"),
    [
        ("IDLE 300", 300),
        ("idle 0", 0),
        ("IDLE -300", 0),
        ("IDLE 9000000000000", 0),
        (f"TIME {NOW_MS - 70}", 70),
        (f"TIME {NOW_MS + 1}", 0),
        ("TIME -1", 0),
        ("TIME 0", NOW_MS),
        ("TIME 0 IDLE 5", 5),
        (f"IDLE 5 TIME {NOW_MS - 70}", 70),
    ],
)
def test_the_delivery_time_can_be_given_and_is_mended_where_it_makes_no_sense(
    client: Talk, option: str, idle: int
) -> None:
    client.do(f"{CLAIM} 0 1-1 {option}")
    assert pending(client)[0] == ("1-1", "d", idle, 2)


@pytest.mark.parametrize("suffix", ["", " JUSTID"])
def test_the_count_of_deliveries_can_be_given(client: Talk, suffix: str) -> None:
    client.do(f"{CLAIM} 0 1-1 RETRYCOUNT 7{suffix}")
    client.do(f"{CLAIM} 0 2-1 RETRYCOUNT 0{suffix}")
    assert [row[3] for row in pending(client)] == [7, 0, 1]


def test_a_negative_count_of_deliveries_is_none(client: Talk) -> None:
    client.do(f"{CLAIM} 0 1-1 RETRYCOUNT -7")
    assert pending(client)[0][3] == 2


def test_lastid_moves_the_group_forward_only(client: Talk) -> None:
    client.do(f"{CLAIM} 0 1-1 LASTID 4-1")
    assert client.do("XINFO GROUPS s")[0][7] == b"4-1"
    client.do(f"{CLAIM} 0 1-1 LASTID 2-1")
    assert client.do("XINFO GROUPS s")[0][7] == b"4-1"


@pytest.mark.parametrize(
    "attempt", [f"{CLAIM} 5000 1-1", f"{CLAIM} 0 JUSTID", f"{AUTOCLAIM} 5000 0"]
)
def test_a_consumer_exists_from_its_first_attempt(
    client: Talk, server: InProcessServer, events: list[tuple[str, str]], attempt: str
) -> None:
    client.do(attempt)
    assert events == [("xgroup-createconsumer", "s")]
    server.now_ms += 50
    assert (consumers(client)["d"]["idle"], consumers(client)["d"]["inactive"]) == (50, -1)
    client.do(attempt)
    assert (consumers(client)["d"]["idle"], consumers(client)["d"]["inactive"]) == (0, -1)


@pytest.mark.parametrize("attempt", [f"{CLAIM} 0 1-1", f"{AUTOCLAIM} 0 0"])
def test_getting_something_is_activity(client: Talk, server: InProcessServer, attempt: str) -> None:
    client.do(attempt)
    server.now_ms += 50
    assert (consumers(client)["d"]["idle"], consumers(client)["d"]["inactive"]) == (50, 50)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("x 1-1", "ERR Invalid min-idle-time argument for XCLAIM"),
        ("1.5 1-1", "ERR Invalid min-idle-time argument for XCLAIM"),
        ("0 1-1 IDLE x", "ERR Invalid IDLE option argument for XCLAIM"),
        ("0 1-1 TIME x", "ERR Invalid TIME option argument for XCLAIM"),
        ("0 1-1 RETRYCOUNT x", "ERR Invalid RETRYCOUNT option argument for XCLAIM"),
        ("0 1-1 LASTID bad", INVALID_ID),
        ("0 1-1 LASTID +", INVALID_ID),
        ("0 1-1 foo", "ERR Unrecognized XCLAIM option 'foo'"),
        ("0 bad", "ERR Unrecognized XCLAIM option 'bad'"),
        ("0 1-1 IDLE", "ERR Unrecognized XCLAIM option 'IDLE'"),
        ("0 1-1 LASTID", "ERR Unrecognized XCLAIM option 'LASTID'"),
        ("0 1-1 FORCE 2-1", "ERR Unrecognized XCLAIM option '2-1'"),
        ("0 -", "ERR Unrecognized XCLAIM option '-'"),
    ],
)
def test_bad_arguments_of_xclaim_are_refused_and_nothing_changes(
    client: Talk, arguments: str, text: str
) -> None:
    assert client.error(f"{CLAIM} {arguments}") == text
    assert [row[1] for row in pending(client)] == ["c", "c", "c"]
    assert "d" not in consumers(client)


def test_xclaim_looks_for_the_group_before_its_arguments(client: Talk) -> None:
    client.do("SET string v")
    assert client.error("XCLAIM missing g d x bad") == (
        "NOGROUP No such key 'missing' or consumer group 'g'"
    )
    assert client.error("XCLAIM s nobody d x bad") == (
        "NOGROUP No such key 's' or consumer group 'nobody'"
    )
    assert client.error("XCLAIM string g d x bad").startswith("WRONGTYPE ")


# -- XAUTOCLAIM --------------------------------------------------------------------------------


def test_idle_entries_are_found_and_claimed(client: Talk, resp3: Talk) -> None:
    wire = b"*3\r\n$3\r\n0-0\r\n*1\r\n*2\r\n$3\r\n3-1\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n*0\r\n"
    assert client.raw(f"{AUTOCLAIM} 1000 3-1") == wire
    assert resp3.raw("XAUTOCLAIM s g e 0 3-1") == wire
    assert pending(client)[2] == ("3-1", "e", 0, 3)


def test_the_cursor_tells_where_to_go_on(client: Talk) -> None:
    assert client.do(f"{AUTOCLAIM} 0 0 COUNT 2 JUSTID") == [b"3-1", [b"1-1", b"2-1"], []]
    assert client.do(f"{AUTOCLAIM} 0 3-1 COUNT 2 JUSTID") == [b"0-0", [b"3-1"], []]
    assert client.do(f"{AUTOCLAIM} 0 0 COUNT 3 JUSTID")[0] == b"0-0"


@pytest.mark.parametrize(
    ("start", "expected"),
    [("-", 3), ("0", 3), ("2", 2), ("(2-1", 1), ("+", 0), ("4", 0)],
)
def test_the_start_is_that_of_a_range(client: Talk, start: str, expected: int) -> None:
    assert len(client.do(f"{AUTOCLAIM} 0 {start}")[1]) == expected


def test_with_justid_the_count_of_deliveries_stays(client: Talk) -> None:
    client.do(f"{AUTOCLAIM} 0 0 COUNT 1 JUSTID")
    client.do(f"{AUTOCLAIM} 0 2 COUNT 1 count 1")
    assert [row[3] for row in pending(client)] == [1, 2, 1]


def test_entries_that_were_delivered_lately_are_passed_over(client: Talk) -> None:
    client.do("XCLAIM s g c 0 2-1 JUSTID")
    assert client.do(f"{AUTOCLAIM} 500 0 JUSTID") == [b"0-0", [b"1-1", b"3-1"], []]
    assert client.do(f"{AUTOCLAIM} -1 2-1 COUNT 1 JUSTID")[1] == [b"2-1"]


def test_deleted_entries_are_dropped_listed_and_count(client: Talk) -> None:
    client.do("XDEL s 1-1 2-1")
    assert client.do(f"{AUTOCLAIM} 5000 0 COUNT 1") == [b"2-1", [], [b"1-1"]]
    assert client.do(f"{AUTOCLAIM} 0 0 COUNT 2 JUSTID") == [b"0-0", [b"3-1"], [b"2-1"]]
    assert pending(client) == [("3-1", "d", 0, 1)]


def test_at_most_ten_times_the_count_are_looked_at(client: Talk) -> None:
    client.all(*(f"XADD s {i}-1 f v" for i in range(6, 30)), "XREADGROUP GROUP g c STREAMS s >")
    assert client.do(f"{AUTOCLAIM} 5000 0 COUNT 1") == [b"11-1", [], []]
    assert client.do(f"{AUTOCLAIM} 5000 11-1 COUNT 1") == [b"21-1", [], []]
    assert client.do(f"{AUTOCLAIM} 5000 21-1 COUNT 1") == [b"0-0", [], []]


def test_without_a_count_it_is_a_hundred(client: Talk) -> None:
    client.all(*(f"XADD s {i}-1 f v" for i in range(6, 120)), "XREADGROUP GROUP g c STREAMS s >")
    cursor, claimed, _ = client.do(f"{AUTOCLAIM} 0 0 JUSTID")
    assert (cursor, len(claimed)) == (b"101-1", 100)


def test_the_greatest_count_that_redis_takes(client: Talk) -> None:
    assert len(client.do(f"{AUTOCLAIM} 0 0 COUNT 576460752303423487 JUSTID")[1]) == 3
    assert client.error(f"{AUTOCLAIM} 0 0 COUNT 576460752303423488") == "ERR COUNT must be > 0"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("x 0", "ERR Invalid min-idle-time argument for XAUTOCLAIM"),
        ("x bad COUNT 0", "ERR Invalid min-idle-time argument for XAUTOCLAIM"),
        ("0 bad COUNT 0", INVALID_ID),
        (f"0 ({MAX}-{MAX}", "ERR invalid start ID for the interval"),
        ("0 0 COUNT 0", "ERR COUNT must be > 0"),
        ("0 0 COUNT -1", "ERR COUNT must be > 0"),
        ("0 0 COUNT x", "ERR COUNT must be > 0"),
        ("0 0 COUNT", SYNTAX),
        ("0 0 FOO", SYNTAX),
        ("0 0 FORCE", SYNTAX),
    ],
)
def test_bad_arguments_of_xautoclaim_are_refused_before_the_key_is_looked_at(
    client: Talk, arguments: str, text: str
) -> None:
    client.do("SET string v")
    for key in ("s", "missing", "string"):
        assert client.error(f"XAUTOCLAIM {key} g d {arguments}") == text
    assert "d" not in consumers(client)


def test_xautoclaim_needs_a_stream_with_the_group(client: Talk) -> None:
    client.do("SET string v")
    assert client.error("XAUTOCLAIM missing g d 0 0") == (
        "NOGROUP No such key 'missing' or consumer group 'g'"
    )
    assert client.error("XAUTOCLAIM s nobody d 0 0") == (
        "NOGROUP No such key 's' or consumer group 'nobody'"
    )
    assert client.error("XAUTOCLAIM string g d 0 0").startswith("WRONGTYPE ")


# -- propagation -------------------------------------------------------------------------------


def claim(entry_id: str, name: str, time_ms: int, count: int, last_id: str = "3-1") -> str:
    return (
        f"XCLAIM s g {name} 0 {entry_id} TIME {time_ms} RETRYCOUNT {count}"
        f" FORCE JUSTID LASTID {last_id}"
    )


def test_each_claim_is_propagated_as_what_it_came_to(client: Talk, propagated: list[str]) -> None:
    client.do(f"{CLAIM} 0 1-1 2-1 IDLE 50")
    assert propagated == [claim("1-1 2-1", "d", NOW_MS - 50, 2)]
    client.do("XCLAIM s g e 0 1-1 RETRYCOUNT 7")
    del propagated[:]
    client.do(f"{CLAIM} 0 1-1 2-1 IDLE 40")
    assert propagated == [
        "MULTI",
        claim("1-1", "d", NOW_MS - 40, 8),
        claim("2-1", "d", NOW_MS - 40, 3),
        "EXEC",
    ]


def test_new_entries_are_claimed_as_they_would_be_delivered(
    client: Talk, propagated: list[str]
) -> None:
    """What XREADGROUP is propagated as makes a whole run pending at once."""
    client.do("XGROUP CREATE s fresh 0")
    del propagated[:]
    run = f"TIME {NOW_MS - 5} RETRYCOUNT 1 FORCE JUSTID LASTID 2-1"
    assert client.do(f"XCLAIM s fresh d 0 1-1 2-1 {run}") == [b"1-1", b"2-1"]
    assert propagated == [f"XCLAIM s fresh d 0 1-1 2-1 {run}"]
    assert client.do("XPENDING s fresh - + 9") == [[b"1-1", b"d", 5, 1], [b"2-1", b"d", 5, 1]]
    assert b"2-1" in client.do("XINFO GROUPS s")[0]


@pytest.mark.parametrize("ids", ["2-1 1-1", "1-1 1-1", "1-1 1-2", "1-1 2-1 9-9"])
def test_entries_that_are_no_run_are_claimed_one_by_one(client: Talk, ids: str) -> None:
    client.do("XGROUP CREATE s fresh 0")
    claimed = client.do(f"XCLAIM s fresh d 0 {ids} TIME 7 RETRYCOUNT 1 FORCE JUSTID")
    assert claimed == [i.encode() for i in ids.split() if i in ("1-1", "2-1")]
    found = client.do("XPENDING s fresh - + 9")
    assert [row[0] for row in found] == sorted(set(claimed))


def test_a_dropped_entry_is_propagated_in_its_old_owners_name(
    client: Talk, propagated: list[str]
) -> None:
    client.do("XDEL s 1-1 2-1")
    propagated.clear()
    client.do(f"{CLAIM} 0 1-1")
    assert propagated == [
        "MULTI", claim("1-1", "c", NOW_MS - 1000, 1), "XGROUP CREATECONSUMER s g d", "EXEC",
    ]  # fmt: skip
    propagated.clear()
    client.do(f"{AUTOCLAIM} 0 0 COUNT 2 JUSTID")
    assert propagated[1:-1] == [
        claim("2-1", "c", NOW_MS - 1000, 1),
        claim("3-1", "d", NOW_MS, 1),
    ]


def test_a_position_without_a_claim_is_propagated_on_its_own(
    client: Talk, propagated: list[str]
) -> None:
    client.do("XCLAIM s g c 5000 1-1 LASTID 4-1")
    client.do("XCLAIM s g c 0 1-1 LASTID 5-1")
    assert propagated == [
        "XGROUP SETID s g 4-1 ENTRIESREAD 3",
        claim("1-1", "c", NOW_MS, 2, last_id="5-1"),
    ]


def test_a_consumer_without_a_claim_is_propagated_on_its_own(
    client: Talk, propagated: list[str]
) -> None:
    client.do(f"{CLAIM} 5000 1-1")
    client.do(f"{CLAIM} 5000 1-1")
    client.do("XAUTOCLAIM s g e 5000 0")
    assert propagated == ["XGROUP CREATECONSUMER s g d", "XGROUP CREATECONSUMER s g e"]


def test_what_was_propagated_makes_the_same_state_elsewhere(
    client: Talk, propagated: list[str]
) -> None:
    twin = Talk(InProcessServer(now_ms=NOW_MS))
    twin.all(*(f"XADD s {i}-1 f v" for i in range(1, 6)), "XGROUP CREATE s g 3-1 ENTRIESREAD 3")
    twin.all(*(claim(f"{i}-1", "c", NOW_MS - 1000, 1) for i in (1, 2, 3)))
    client.all(
        "XDEL s 2-1", f"{CLAIM} 0 1-1 RETRYCOUNT 5", f"{AUTOCLAIM} 0 0", f"{CLAIM} 0 4-1 FORCE"
    )
    for request in propagated:
        twin.raw(request)
    assert pending(twin) == pending(client)


def test_a_transaction_that_watches_the_key_does_not_fail(
    client: Talk, server: InProcessServer
) -> None:
    client.do("WATCH s")
    Talk(server).all(f"{CLAIM} 0 1-1", f"{AUTOCLAIM} 0 0")
    client.do("MULTI")
    assert client.raw("EXEC") == b"*0\r\n"


# -- entries without an owner ------------------------------------------------------------------


@pytest.mark.parametrize("claim", ["XCLAIM s g d 999999 1-1", "XAUTOCLAIM s g d 999999 0 COUNT 1"])
def test_what_was_released_can_be_claimed_at_once(client: Talk, claim: str) -> None:
    client.do("XNACK s g FAIL IDS 1 1-1 RETRYCOUNT 5")
    client.do(claim)
    assert client.do("XPENDING s g - + 1") == [[b"1-1", b"d", 0, 6]]
    assert client.fields("XINFO STREAM s FULL")["groups"][0][11] == 0


@pytest.mark.parametrize("claim", ["XCLAIM s g d 999999 1-1", "XAUTOCLAIM s g d 999999 0 COUNT 1"])
def test_a_released_entry_whose_content_is_gone_is_dropped_as_an_acknowledgement(
    client: Talk, propagated: list[str], claim: str
) -> None:
    client.all("XNACK s g FAIL IDS 1 1-1", "XDEL s 1-1")
    del propagated[:]
    client.do(claim)
    assert client.do("XPENDING s g 1-1 1-1 9") == []
    assert "XACK s g 1-1" in propagated


def test_a_claim_that_only_drops_entries_still_tells_of_its_consumer_and_position(
    client: Talk, propagated: list[str]
) -> None:
    client.all("XNACK s g FAIL IDS 1 1-1", "XDEL s 1-1 2-1")
    del propagated[:]
    client.do("XCLAIM s g new 0 1-1 LASTID 9-9")
    position = propagated[3]
    assert propagated == [
        "MULTI", "XACK s g 1-1", "XGROUP CREATECONSUMER s g new", position, "EXEC",
    ]  # fmt: skip
    assert position.startswith("XGROUP SETID s g 9-9 ENTRIESREAD ")
    del propagated[:]
    client.do("XCLAIM s g newer 0 2-1")
    assert propagated[1].endswith("FORCE JUSTID LASTID 9-9")
    assert propagated[2:] == ["XGROUP CREATECONSUMER s g newer", "EXEC"]
