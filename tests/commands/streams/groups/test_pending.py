"""XPENDING."""

from __future__ import annotations

import random
from typing import Any

import pytest

from server.inprocess.server import InProcessServer
from tests.commands.streams.talk import Talk

SYNTAX = "ERR syntax error"
NOT_AN_INTEGER = "ERR value is not an integer or out of range"
INVALID_ID = "ERR Invalid stream ID specified as stream command argument"
MAX = "18446744073709551615"


@pytest.fixture
def client(server: InProcessServer) -> Talk:
    """Two entries are pending for consumer d, 100 ms later two more for c; e has nothing."""
    client = Talk(server)
    client.all(*(f"XADD s {i}-1 f v" for i in range(1, 6)), "XGROUP CREATE s g 0")
    client.all("XREADGROUP GROUP g d COUNT 2 STREAMS s >", "XGROUP CREATECONSUMER s g e")
    server.now_ms += 100
    client.do("XREADGROUP GROUP g c COUNT 2 STREAMS s >")
    return client


def rows(client: Talk, arguments: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in client.do(f"XPENDING s g {arguments}")]


ALL = [(b"1-1", b"d", 100, 1), (b"2-1", b"d", 100, 1), (b"3-1", b"c", 0, 1), (b"4-1", b"c", 0, 1)]


# -- the short form ----------------------------------------------------------------------------


def test_the_summary_has_the_total_the_bounds_and_consumers_by_name_with_counts_as_text(
    client: Talk, resp3: Talk
) -> None:
    wire = (
        b"*4\r\n:4\r\n$3\r\n1-1\r\n$3\r\n4-1\r\n"
        b"*2\r\n*2\r\n$1\r\nc\r\n$1\r\n2\r\n*2\r\n$1\r\nd\r\n$1\r\n2\r\n"
    )
    assert client.raw("XPENDING s g") == wire
    assert resp3.raw("XPENDING s g") == wire


def test_with_nothing_pending_the_summary_is_nulls(client: Talk, resp3: Talk) -> None:
    client.do("XACK s g 1-1 2-1 3-1 4-1")
    assert client.raw("XPENDING s g") == b"*4\r\n:0\r\n$-1\r\n$-1\r\n*-1\r\n"
    assert resp3.raw("XPENDING s g") == b"*4\r\n:0\r\n_\r\n_\r\n_\r\n"


# -- the extended form -------------------------------------------------------------------------


def test_each_entry_has_its_consumer_idle_time_and_deliveries(client: Talk) -> None:
    assert client.raw("XPENDING s g - + 1") == b"*1\r\n*4\r\n$3\r\n1-1\r\n$1\r\nd\r\n:100\r\n:1\r\n"
    assert rows(client, "- + 10") == ALL


def test_ranges_are_as_in_xrange(client: Talk) -> None:
    assert rows(client, "2 3 10") == ALL[1:3]
    assert rows(client, "(2-1 (4-1 10") == ALL[2:3]
    assert rows(client, "3 2 10") == []


def test_the_count_limits_the_list(client: Talk) -> None:
    assert rows(client, "- + 3") == ALL[:3]
    assert rows(client, "- + 0") == []
    assert rows(client, "- + -5") == []


def test_one_consumers_entries_can_be_asked_for(client: Talk) -> None:
    assert rows(client, "- + 10 c") == ALL[2:]
    assert rows(client, "- + 1 c") == ALL[2:3]
    assert rows(client, "- + 10 e") == []
    assert rows(client, "- + 10 nobody") == []


def test_idle_leaves_out_what_was_delivered_lately(client: Talk) -> None:
    assert rows(client, "IDLE 100 - + 10") == ALL[:2]
    assert rows(client, "idle 101 - + 10") == []
    assert rows(client, "IDLE 100 - + 1") == ALL[:1]
    assert rows(client, "IDLE 100 - + 10 c") == []
    assert rows(client, "IDLE 0 - + 10") == ALL
    assert rows(client, "IDLE -5 - + 10") == ALL


def test_a_delivery_time_in_the_future_is_no_idle_time(
    client: Talk, server: InProcessServer
) -> None:
    server.now_ms -= 50
    assert [row[2] for row in rows(client, "- + 10")] == [50, 50, 0, 0]


def test_deleted_entries_are_listed(client: Talk) -> None:
    client.do("XDEL s 2-1")
    assert rows(client, "- + 10") == ALL


def test_where_idle_would_have_room_more_words_are_ignored_as_in_redis(client: Talk) -> None:
    assert rows(client, "- + 10 c more") == ALL[2:]
    assert rows(client, "- + 10 c more words") == ALL[2:]


# -- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("-", SYNTAX),
        ("- +", SYNTAX),
        ("- + 10 c a b c", SYNTAX),
        ("IDLE 5 - +", SYNTAX),
        ("IDLE x - +", NOT_AN_INTEGER),
        ("IDLE x - + 10", NOT_AN_INTEGER),
        ("- + x", NOT_AN_INTEGER),
        ("bad + x", NOT_AN_INTEGER),
        ("bad + 10", INVALID_ID),
        ("- bad 10", INVALID_ID),
        (f"({MAX}-{MAX} + 10", "ERR invalid start ID for the interval"),
        ("- (0-0 10", "ERR invalid end ID for the interval"),
    ],
)
def test_bad_arguments_are_refused_before_the_key_is_looked_at(
    client: Talk, arguments: str, text: str
) -> None:
    client.do("SET string v")
    for key in ("s", "missing", "string"):
        assert client.error(f"XPENDING {key} g {arguments}") == text


@pytest.mark.parametrize("form", ["", " - + 10"])
def test_there_must_be_a_stream_with_the_group(client: Talk, form: str) -> None:
    client.do("SET string v")
    assert client.error(f"XPENDING missing g{form}") == (
        "NOGROUP No such key 'missing' or consumer group 'g'"
    )
    assert client.error(f"XPENDING s nobody{form}") == (
        "NOGROUP No such key 's' or consumer group 'nobody'"
    )
    assert client.error(f"XPENDING string g{form}").startswith("WRONGTYPE ")


def test_an_entry_without_owner_is_of_nobody_and_always_old_enough(
    client: Talk, server: InProcessServer
) -> None:
    before = client.do("XPENDING s g")
    rows = client.do("XPENDING s g - + 99")
    first = rows[0][0].decode()
    client.do(f"XNACK s g FAIL IDS 1 {first}")
    assert client.do("XPENDING s g - + 1") == [[first.encode(), b"", -1, rows[0][3]]]
    assert client.do("XPENDING s g IDLE 999999999 - + 99") == [
        [first.encode(), b"", -1, rows[0][3]]
    ]
    assert client.do("XPENDING s g - + 99 nobody") == []
    after = client.do("XPENDING s g")
    assert after[:3] == before[:3]
    assert sum(int(n) for _, n in after[3]) == after[0] - 1


@pytest.mark.parametrize("seed", range(20))
def test_idle_entries_are_those_of_the_whole_list_that_are_old_enough(seed: int) -> None:
    chance = random.Random(seed)
    server = InProcessServer()
    client = Talk(server)
    client.do("XGROUP CREATE s g 0 MKSTREAM")
    added = 0
    for _ in range(60):
        server.now_ms += chance.choice([0, 1, 10, 100])
        consumer = chance.choice("ab")
        some = [f"{chance.randint(1, added + 1)}-1" for _ in range(chance.randint(1, 3))]
        step = chance.randrange(6)
        if step < 2:
            added += 1
            client.do(f"XADD s {added}-1 f v")
            client.do(f"XREADGROUP GROUP g {consumer} STREAMS s >")
        elif step == 2:
            client.do(f"XACK s g {' '.join(some)}")
        elif step == 3:
            client.do(f"XCLAIM s g {consumer} 0 {' '.join(some)} IDLE {chance.randrange(300)}")
        elif step == 4:
            client.do(f"XNACK s g SILENT IDS {len(some)} {' '.join(some)}")
        whole = rows(client, "- + 100")
        idle_ms = chance.choice([1, 10, 50, 200, 1000])
        found = rows(client, f"IDLE {idle_ms} - + 100")
        assert found == [row for row in whole if row[2] == -1 or row[2] >= idle_ms]


@pytest.mark.parametrize("count", [100, 101, 200])
def test_rows_up_to_the_greatest_id_are_listed(count: int) -> None:
    client = InProcessServer().connect()
    greatest = (1 << 64) - 1
    client.execute("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM")
    for seq in range(greatest - count + 1, greatest + 1):
        client.execute("XADD", "s", f"{greatest}-{seq}", "f", "v")
    client.execute("XREADGROUP", "GROUP", "g", "a", "COUNT", "1000", "STREAMS", "s", ">")
    header = b"*%d\r\n" % count
    assert client.execute("XPENDING", "s", "g", "-", "+", "2000").startswith(header)
    assert (
        client.execute("XAUTOCLAIM", "s", "g", "b", "0", "0", "COUNT", "1000").count(
            b"-%d\r\n" % greatest
        )
        == 1
    )
    assert b"internal error" not in client.execute("XINFO", "STREAM", "s", "FULL", "COUNT", "0")
