"""XREADGROUP with CLAIM: entries that have been pending for long, before the new ones."""

from __future__ import annotations

from typing import Any

import pytest

from commands.core.blocked_clients import BlockedClients
from commands.streams.groups.read_group import MIN_WAKE_MS, PASSED_PER_MS
from server.inprocess.server import InProcessServer
from tests.commands.streams.talk import NOW_MS, Talk

READ = "XREADGROUP GROUP g c"
MAX = 9223372036854775807


@pytest.fixture
def client(server: InProcessServer) -> Talk:
    """1-1 and 2-1 are pending for consumer b, 2-1 for ten seconds and 1-1 for five; 3-1 is new."""
    client = Talk(server)
    client.all("XADD s 1-1 f 1", "XADD s 2-1 f 2", "XADD s 3-1 f 3", "XGROUP CREATE s g 0")
    client.do("XREADGROUP GROUP g b COUNT 2 STREAMS s >")
    server.now_ms += 5000
    client.do("XCLAIM s g b 0 1-1")
    server.now_ms += 5000
    return client


def row(entry_id: str, idle_ms: int, deliveries: int) -> list[Any]:
    """An entry as CLAIM gives it."""
    fields = [b"f", entry_id.partition("-")[0].encode()]
    return [entry_id.encode(), fields, idle_ms, deliveries]


def pending(client: Talk) -> list[tuple[str, str, int, int]]:
    """What XPENDING lists: ID, consumer, idle time, deliveries."""
    return [(i.decode(), c.decode(), ms, n) for i, c, ms, n in client.do("XPENDING s g - + 99")]


# -- what comes --------------------------------------------------------------------------------


def test_the_oldest_delivery_comes_first_and_new_entries_last(client: Talk) -> None:
    entries = client.do(f"{READ} CLAIM 5000 STREAMS s >")[0][1]
    assert entries == [row("2-1", 10_000, 1), row("1-1", 5000, 2), row("3-1", 0, 0)]
    assert pending(client) == [("1-1", "c", 0, 3), ("2-1", "c", 0, 2), ("3-1", "c", 0, 1)]


def test_nothing_new_comes_after_the_greatest_id(client: Talk) -> None:
    client.do("XGROUP SETID s g 18446744073709551615-18446744073709551615")
    entries = client.do(f"{READ} CLAIM 5000 STREAMS s >")[0][1]
    assert entries == [row("2-1", 10_000, 1), row("1-1", 5000, 2)]


def test_the_numbers_are_integers_in_both_protocols(client: Talk, resp3: Talk) -> None:
    second = b"*1\r\n*4\r\n$3\r\n2-1\r\n*2\r\n$1\r\nf\r\n$1\r\n2\r\n:10000\r\n:1\r\n"
    first = b"*1\r\n*4\r\n$3\r\n1-1\r\n*2\r\n$1\r\nf\r\n$1\r\n1\r\n:5000\r\n:2\r\n"
    reply = resp3.raw(f"{READ} COUNT 1 CLAIM 1 STREAMS s >")
    assert reply == b"%1\r\n$1\r\ns\r\n" + second
    reply = client.raw(f"{READ} COUNT 1 CLAIM 1 STREAMS s >")
    assert reply == b"*1\r\n*2\r\n$1\r\ns\r\n" + first


def test_what_is_too_young_is_left_to_its_owner(client: Talk) -> None:
    entries = client.do(f"{READ} CLAIM 5001 STREAMS s >")[0][1]
    assert entries == [row("2-1", 10_000, 1), row("3-1", 0, 0)]
    assert pending(client)[0] == ("1-1", "b", 5000, 2)


def test_the_count_is_for_claimed_and_new_entries_together(client: Talk) -> None:
    assert client.do(f"{READ} COUNT 1 CLAIM 0 STREAMS s >")[0][1] == [row("2-1", 10_000, 1)]
    rest = client.do("XREADGROUP GROUP g d COUNT 2 CLAIM 1000 STREAMS s >")[0][1]
    assert rest == [row("1-1", 5000, 2), row("3-1", 0, 0)]


def test_ones_own_entries_are_claimed_too_and_once_in_a_reply(client: Talk) -> None:
    client.do("XREADGROUP GROUP g b CLAIM 0 STREAMS s >")
    entries = client.do("XREADGROUP GROUP g b CLAIM 0 STREAMS s >")[0][1]
    assert [(entry[0], entry[2], entry[3]) for entry in entries] == [
        (b"2-1", 0, 2), (b"1-1", 0, 3), (b"3-1", 0, 1),
    ]  # fmt: skip


def test_released_entries_come_first_in_the_order_of_their_releases(client: Talk) -> None:
    client.all("XNACK s g FAIL IDS 1 1-1", "XNACK s g FATAL IDS 1 3-1 FORCE")
    now_ms = NOW_MS + 10_000
    entries = client.do(f"{READ} CLAIM 99999999 STREAMS s >")[0][1]
    assert entries == [row("1-1", now_ms, 2), row("3-1", now_ms, MAX), row("3-1", 0, 0)]
    assert pending(client)[2] == ("3-1", "c", 0, 1)


def test_delivery_counts_go_no_further_than_their_greatest_value(client: Talk) -> None:
    client.all("XNACK s g FATAL IDS 1 1-1", f"{READ} CLAIM 99999 COUNT 1 STREAMS s >")
    assert pending(client)[0] == ("1-1", "c", 0, MAX)
    client.do(f"{READ} STREAMS s 0")
    client.all("XCLAIM s g c 0 1-1", "XAUTOCLAIM s g c 0 0")
    assert pending(client)[0] == ("1-1", "c", 0, MAX)


def test_a_released_entry_again_released_goes_to_the_end(client: Talk) -> None:
    client.all("XNACK s g FAIL IDS 2 1-1 2-1", "XNACK s g FAIL IDS 1 1-1")
    entries = client.do(f"{READ} CLAIM 1 COUNT 2 STREAMS s >")[0][1]
    assert [entry[0] for entry in entries] == [b"2-1", b"1-1"]


def test_an_entry_whose_content_is_gone_is_passed_over_and_stays_pending(client: Talk) -> None:
    client.do("XDEL s 2-1")
    entries = client.do(f"{READ} CLAIM 1000 STREAMS s >")[0][1]
    assert entries == [row("1-1", 5000, 2), row("3-1", 0, 0)]
    assert pending(client)[1] == ("2-1", "b", 10_000, 1)


def test_with_noack_only_new_entries_are_not_pending(client: Talk) -> None:
    entries = client.do(f"{READ} NOACK CLAIM 6000 STREAMS s >")[0][1]
    assert entries == [row("2-1", 10_000, 1), row("3-1", 0, 0)]
    assert pending(client) == [("1-1", "b", 5000, 2), ("2-1", "c", 0, 2)]
    assert client.do("XINFO GROUPS s")[0][7] == b"3-1"


def test_without_anything_to_claim_or_deliver_the_reply_is_null(client: Talk, resp3: Talk) -> None:
    client.all("XGROUP SETID s g $")
    assert client.raw(f"{READ} CLAIM 10001 STREAMS s >") == b"*-1\r\n"
    assert resp3.raw(f"{READ} CLAIM 10001 STREAMS s >") == b"_\r\n"


def test_history_does_not_claim_and_keeps_the_streams_behind_it_from_claiming(
    client: Talk,
) -> None:
    client.all("XADD t 1-1 f 1", "XGROUP CREATE t g 0", "XREADGROUP GROUP g b STREAMS t >")
    client.do("XADD t 2-1 f 2")
    assert client.do(f"{READ} CLAIM 0 STREAMS s t 0 >") == [
        [b"s", []], [b"t", [[b"2-1", [b"f", b"2"]]]],
    ]  # fmt: skip
    both = client.do(f"{READ} CLAIM 0 STREAMS t s > 0")
    assert [entry[0] for entry in both[0][1]] == [b"1-1", b"2-1"]
    assert both[1] == [b"s", []]


def test_claiming_is_activity(client: Talk, server: InProcessServer) -> None:
    client.do(f"{READ} CLAIM 99999 COUNT 0 STREAMS s >")
    server.now_ms += 7
    client.do(f"{READ} CLAIM 99999 STREAMS s >")
    assert client.do("XINFO CONSUMERS s g")[1][5:] == [0, b"inactive", 7]
    client.do(f"{READ} CLAIM 5 STREAMS s >")
    assert client.do("XINFO CONSUMERS s g")[1][5:] == [0, b"inactive", 0]


def test_what_was_claimed_and_delivered_is_propagated(
    client: Talk, server: InProcessServer, propagated: list[str]
) -> None:
    client.do(f"{READ} CLAIM 6000 STREAMS s >")
    now_ms = server.now_ms
    tail = f"TIME {now_ms} RETRYCOUNT {{}} FORCE JUSTID LASTID {{}}"
    assert propagated == [
        "MULTI",
        f"XCLAIM s g c 0 2-1 {tail.format(2, '2-1')}",
        f"XCLAIM s g c 0 3-1 {tail.format(1, '3-1')}",
        "XGROUP SETID s g 3-1 ENTRIESREAD 3",
        "EXEC",
    ]
    del propagated[:]
    client.do("XREADGROUP GROUP g d CLAIM 60000 STREAMS s >")
    assert propagated == ["XGROUP CREATECONSUMER s g d"]


# -- waiting -----------------------------------------------------------------------------------


@pytest.fixture
def reader(client: Talk, server: InProcessServer) -> Talk:
    """Another client, where there is nothing new."""
    client.do("XGROUP SETID s g $")
    return Talk(server)


def ids(reply: Any) -> list[bytes]:
    return [entry[0] for entry in reply[0][1]]


def test_a_waiter_is_served_once_the_oldest_entry_is_old_enough(
    reader: Talk, server: InProcessServer
) -> None:
    assert reader.raw(f"{READ} BLOCK 0 CLAIM 12000 STREAMS s >") == b""
    server.advance(1999)
    assert reader.received() is None
    server.advance(1)
    assert reader.received() == [[b"s", [row("2-1", 12_000, 1)]]]


def test_a_waiter_is_woken_at_the_time_that_is_true_when_it_looks_again(
    client: Talk, reader: Talk, server: InProcessServer
) -> None:
    reader.raw(f"{READ} BLOCK 0 CLAIM 12000 STREAMS s >")
    client.do("XACK s g 2-1")
    server.advance(2000)
    assert reader.received() is None
    assert server.instance.feature(BlockedClients).next_alarm_ms() == server.monotonic_ms + 5000
    server.advance(5000)
    assert ids(reader.received()) == [b"1-1"]
    assert server.instance.feature(BlockedClients).next_alarm_ms() is None


def test_an_entry_that_is_delivered_meanwhile_is_waited_for(
    client: Talk, reader: Talk, server: InProcessServer
) -> None:
    client.do("XACK s g 1-1 2-1")
    reader.raw(f"{READ} BLOCK 0 CLAIM 1000 STREAMS s >")
    server.advance(300)
    client.all("XGROUP SETID s g 2-1", "XREADGROUP GROUP g b STREAMS s >")
    server.advance(999)
    assert reader.received() is None
    server.advance(1)
    assert reader.received() == [[b"s", [row("3-1", 1000, 1)]]]


def test_the_deadline_stays_and_waking_up_for_nothing_does_not_answer(
    client: Talk, reader: Talk, server: InProcessServer
) -> None:
    reader.raw(f"{READ} BLOCK 5000 CLAIM 12000 STREAMS s >")
    client.do("XACK s g 1-1 2-1")
    server.advance(4999)
    assert reader.received() is None
    server.advance(1)
    assert reader.client.received() == b"*-1\r\n"


def test_an_entry_without_content_does_not_keep_the_server_awake(
    client: Talk, reader: Talk, server: InProcessServer
) -> None:
    client.all("XDEL s 2-1", "XNACK s g FAIL IDS 1 1-1", "XDEL s 1-1")
    reader.raw(f"{READ} BLOCK 0 CLAIM 1000 STREAMS s >")
    assert server.instance.feature(BlockedClients).next_alarm_ms() == server.monotonic_ms + 1000
    other = Talk(server)
    other.raw("XREADGROUP GROUP g d BLOCK 0 CLAIM 0 STREAMS s >")
    assert (
        server.instance.feature(BlockedClients).next_alarm_ms() == server.monotonic_ms + MIN_WAKE_MS
    )


def test_waking_up_for_nothing_does_not_lose_the_place(
    client: Talk, reader: Talk, server: InProcessServer
) -> None:
    client.do("XACK s g 1-1 2-1")
    reader.raw(f"{READ} BLOCK 0 COUNT 1 CLAIM 10 STREAMS s >")
    second = Talk(server)
    second.raw("XREADGROUP GROUP g d BLOCK 0 COUNT 1 STREAMS s >")
    server.advance(100)
    client.do("XADD s 4-1 f 4")
    assert ids(reader.received()) == [b"4-1"]
    assert second.received() is None


def test_of_two_waiters_the_first_claims(reader: Talk, server: InProcessServer) -> None:
    second = Talk(server)
    reader.raw(f"{READ} BLOCK 0 COUNT 1 CLAIM 12000 STREAMS s >")
    second.raw("XREADGROUP GROUP g d BLOCK 0 COUNT 1 CLAIM 12000 STREAMS s >")
    server.advance(2000)
    assert ids(reader.received()) == [b"2-1"]
    assert second.received() is None
    server.advance(5000)
    assert ids(second.received()) == [b"1-1"]


def test_a_release_wakes_who_claims_and_nobody_else(
    client: Talk, reader: Talk, server: InProcessServer
) -> None:
    plain = Talk(server)
    plain.raw("XREADGROUP GROUP g d BLOCK 0 STREAMS s >")
    reader.raw(f"{READ} BLOCK 0 CLAIM 99999 STREAMS s >")
    client.do("XNACK s g SILENT IDS 1 1-1")
    assert reader.received() == [[b"s", [row("1-1", server.now_ms, 1)]]]
    assert plain.received() is None


def test_a_waiter_that_has_left_claims_nothing(
    client: Talk, reader: Talk, server: InProcessServer
) -> None:
    reader.raw(f"{READ} BLOCK 0 CLAIM 12000 STREAMS s >")
    reader.client.is_gone = True
    server.advance(2000)
    assert pending(client)[1] == ("2-1", "b", 12_000, 1)
    assert not server.instance.feature(BlockedClients).clients


def test_what_a_woken_waiter_claims_is_propagated(
    reader: Talk, server: InProcessServer, propagated: list[str]
) -> None:
    reader.raw(f"{READ} BLOCK 0 CLAIM 12000 STREAMS s >")
    server.advance(2000)
    assert propagated[-1] == (
        f"XCLAIM s g c 0 2-1 TIME {server.now_ms} RETRYCOUNT 2 FORCE JUSTID LASTID 3-1"
    )


def test_new_entries_serve_a_waiter_that_claims(
    client: Talk, reader: Talk, server: InProcessServer
) -> None:
    reader.raw(f"{READ} BLOCK 0 CLAIM 12000 STREAMS s >")
    client.do("XADD s 4-1 f 4")
    assert reader.received() == [[b"s", [row("4-1", 0, 0)]]]
    server.advance(60_000)
    assert reader.received() is None


def test_a_client_that_waits_looks_less_often_where_many_deleted_entries_are_pending(
    server: InProcessServer,
) -> None:
    client, waiting = Talk(server), server.connect()
    client.all("XGROUP CREATE s g 0 MKSTREAM", *["XADD s * f v"] * 3000)
    client.do("XREADGROUP GROUP g b STREAMS s >")
    client.do("XTRIM s MAXLEN 0")
    waiting.execute(*f"{READ} BLOCK 0 CLAIM 0 STREAMS s >".split())
    alarm_ms = server.instance.feature(BlockedClients).next_alarm_ms()
    assert alarm_ms == server.instance.monotonic_ms + 3000 // PASSED_PER_MS
