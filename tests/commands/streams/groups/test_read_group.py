"""XREADGROUP."""

from __future__ import annotations

from typing import Any

import pytest

from server.inprocess.server import InProcessServer
from tests.commands.streams.talk import NOW_MS, Talk, entry

MAX = "18446744073709551615"
INVALID_ID = "ERR Invalid stream ID specified as stream command argument"
READ = "XREADGROUP GROUP g c"


@pytest.fixture
def client(server: InProcessServer) -> Talk:
    """With a stream of three entries and a group at its beginning."""
    client = Talk(server)
    client.all("XADD s 1-1 f a", "XADD s 2-1 f b", "XADD s 3-1 f c", "XGROUP CREATE s g 0")
    return client


def pending(client: Talk) -> list[tuple[str, str, int, int]]:
    """(ID, consumer, idle ms, deliveries) of all pending entries."""
    return [
        (entry_id.decode(), name.decode(), idle, count)
        for entry_id, name, idle, count in client.do("XPENDING s g - + 100")
    ]


def consumer(client: Talk, name: str = "c") -> dict[str, Any]:
    for flat in client.do("XINFO CONSUMERS s g"):
        if flat[1] == name.encode():
            return {k.decode(): v for k, v in zip(flat[::2], flat[1::2], strict=True)}
    raise AssertionError(f"no consumer {name}")


def group(client: Talk) -> dict[str, Any]:
    flat = client.do("XINFO GROUPS s")[0]
    return {k.decode(): v for k, v in zip(flat[::2], flat[1::2], strict=True)}


# -- new entries -------------------------------------------------------------------------------


def test_new_entries_are_delivered_once_and_become_pending(client: Talk) -> None:
    assert client.do(f"{READ} COUNT 2 STREAMS s >") == [
        [b"s", [entry("1-1", "f", "a"), entry("2-1", "f", "b")]]
    ]
    assert client.do("XREADGROUP GROUP g d STREAMS s >") == [[b"s", [entry("3-1", "f", "c")]]]
    assert pending(client) == [("1-1", "c", 0, 1), ("2-1", "c", 0, 1), ("3-1", "d", 0, 1)]
    assert group(client)["last-delivered-id"] == b"3-1"
    assert group(client)["entries-read"] == 3


def test_the_reply_is_a_map_in_resp3_and_an_array_of_pairs_in_resp2(
    client: Talk, resp3: Talk
) -> None:
    one = b"*1\r\n*2\r\n$3\r\n%b\r\n*2\r\n$1\r\nf\r\n$1\r\n%b\r\n"
    assert client.raw(f"{READ} COUNT 1 STREAMS s >") == (
        b"*1\r\n*2\r\n$1\r\ns\r\n" + one % (b"1-1", b"a")
    )
    assert resp3.raw(f"{READ} COUNT 1 STREAMS s >") == (b"%1\r\n$1\r\ns\r\n" + one % (b"2-1", b"b"))


def test_nothing_new_is_null(client: Talk, resp3: Talk) -> None:
    client.do("XGROUP SETID s g $")
    assert client.raw(f"{READ} STREAMS s >") == b"*-1\r\n"
    assert resp3.raw(f"{READ} STREAMS s >") == b"_\r\n"


def test_with_noack_nothing_becomes_pending_but_the_group_moves_on(client: Talk) -> None:
    assert len(client.do(f"{READ} NOACK COUNT 2 STREAMS s >")[0][1]) == 2
    assert pending(client) == []
    assert group(client)["last-delivered-id"] == b"2-1"
    assert group(client)["entries-read"] == 2


def test_streams_without_news_are_left_out(client: Talk) -> None:
    client.all("XADD t 5-5 f d", "XGROUP CREATE t g $", "XADD u 6-6 f e", "XGROUP CREATE u g 0")
    reply = client.do(f"{READ} STREAMS s t u > > >")
    assert [key for key, _ in reply] == [b"s", b"u"]


def test_a_key_that_is_given_twice_has_nothing_left_the_second_time(client: Talk) -> None:
    assert len(client.do(f"{READ} STREAMS s s > >")) == 1
    client.do("XADD s 4-1 f d")
    reply = client.do(f"{READ} COUNT 2 STREAMS s s > 0")
    assert [len(entries) for _, entries in reply] == [1, 2]


def test_the_last_possible_id_is_taken_for_new_entries(client: Talk) -> None:
    assert len(client.do(f"{READ} STREAMS s {MAX}-{MAX}")[0][1]) == 3


def test_after_the_group_was_set_back_an_entry_changes_hands_and_starts_anew(
    client: Talk, server: InProcessServer
) -> None:
    client.all(f"{READ} STREAMS s >", f"{READ} STREAMS s 0", "XACK s g 2-1")
    server.now_ms += 500
    client.do("XGROUP SETID s g 0")
    assert len(client.do("XREADGROUP GROUP g d COUNT 2 STREAMS s >")[0][1]) == 2
    assert pending(client) == [("1-1", "d", 0, 1), ("2-1", "d", 0, 1), ("3-1", "c", 500, 2)]
    assert consumer(client)["pending"] == 1


def test_deleted_entries_are_not_delivered(client: Talk) -> None:
    client.do("XDEL s 1-1 3-1")
    assert client.do(f"{READ} STREAMS s >") == [[b"s", [entry("2-1", "f", "b")]]]
    assert client.raw(f"{READ} STREAMS s >") == b"*-1\r\n"


# -- consumers ---------------------------------------------------------------------------------


def test_a_consumer_exists_from_its_first_attempt(client: Talk) -> None:
    client.all("XTRIM s MAXLEN 0", f"{READ} STREAMS s >", "XREADGROUP GROUP g d STREAMS s 0")
    assert [c[1] for c in client.do("XINFO CONSUMERS s g")] == [b"c", b"d"]


def test_every_attempt_is_seen_but_only_a_delivery_is_activity(
    client: Talk, server: InProcessServer
) -> None:
    client.do(f"{READ} NOACK COUNT 1 STREAMS s >")
    assert (consumer(client)["idle"], consumer(client)["inactive"]) == (0, -1)
    server.now_ms += 100
    client.do(f"{READ} COUNT 1 STREAMS s >")
    assert (consumer(client)["idle"], consumer(client)["inactive"]) == (0, 0)
    server.now_ms += 100
    assert (consumer(client)["idle"], consumer(client)["inactive"]) == (100, 100)
    client.do(f"{READ} STREAMS s 0")
    assert (consumer(client)["idle"], consumer(client)["inactive"]) == (0, 100)


def test_a_new_consumer_has_its_event_and_reading_has_none(
    client: Talk, events: list[tuple[str, str]]
) -> None:
    client.do(f"{READ} STREAMS s >")
    client.do(f"{READ} STREAMS s 0")
    assert events == [("xgroup-createconsumer", "s")]


# -- history -----------------------------------------------------------------------------------


def test_history_is_the_consumers_own_pending_entries_behind_an_id(client: Talk) -> None:
    client.all(f"{READ} COUNT 2 STREAMS s >", "XREADGROUP GROUP g d STREAMS s >")
    assert client.do(f"{READ} STREAMS s 0") == [
        [b"s", [entry("1-1", "f", "a"), entry("2-1", "f", "b")]]
    ]
    assert client.do(f"{READ} STREAMS s 1-1") == [[b"s", [entry("2-1", "f", "b")]]]
    assert client.do(f"{READ} COUNT 1 STREAMS s 0") == [[b"s", [entry("1-1", "f", "a")]]]


def test_history_without_entries_is_an_empty_array_and_never_waits(
    client: Talk, resp3: Talk
) -> None:
    assert client.raw(f"{READ} BLOCK 0 STREAMS s 0") == b"*1\r\n*2\r\n$1\r\ns\r\n*0\r\n"
    assert resp3.raw(f"{READ} BLOCK 0 STREAMS s 0") == b"%1\r\n$1\r\ns\r\n*0\r\n"


def test_history_counts_as_one_more_delivery(client: Talk, server: InProcessServer) -> None:
    client.do(f"{READ} STREAMS s >")
    server.now_ms += 100
    client.do(f"{READ} COUNT 2 STREAMS s 0")
    assert pending(client) == [("1-1", "c", 0, 2), ("2-1", "c", 0, 2), ("3-1", "c", 100, 1)]


def test_in_history_a_deleted_entry_is_an_id_without_fields_and_keeps_its_counters(
    client: Talk, resp3: Talk, server: InProcessServer
) -> None:
    client.all(f"{READ} STREAMS s >", "XDEL s 2-1", "XDEL s 3-1")
    server.now_ms += 100
    assert client.do(f"{READ} STREAMS s 0") == [
        [b"s", [entry("1-1", "f", "a"), [b"2-1", None], [b"3-1", None]]]
    ]
    assert client.raw(f"{READ} STREAMS s 2-1") == (
        b"*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n3-1\r\n*-1\r\n"
    )
    assert resp3.raw(f"{READ} STREAMS s 2-1") == (
        b"%1\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n3-1\r\n_\r\n"
    )
    assert pending(client) == [("1-1", "c", 0, 2), ("2-1", "c", 100, 1), ("3-1", "c", 100, 1)]


def test_history_ignores_noack(client: Talk) -> None:
    client.all(f"{READ} STREAMS s >", f"{READ} NOACK STREAMS s 0")
    assert len(pending(client)) == 3


# -- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize("special", ["$", "+"])
def test_the_special_ids_of_xread_make_no_sense(client: Talk, special: str) -> None:
    assert client.error(f"{READ} STREAMS s {special}") == (
        f"ERR The {special} ID is meaningless in the context of XREADGROUP: you want to read the"
        " history of this consumer by specifying a proper ID, or use the > ID to get new messages."
        f" The {special} ID would just return an empty result set."
    )


@pytest.mark.parametrize("entry_id", ["bad", "-", "(1", "*"])
def test_other_words_are_invalid_ids(client: Talk, entry_id: str) -> None:
    assert client.error(f"{READ} STREAMS s {entry_id}") == INVALID_ID


@pytest.mark.parametrize("key", ["missing", "s"])
def test_there_must_be_a_key_with_the_group(client: Talk, key: str) -> None:
    client.do("XGROUP DESTROY s g")
    assert client.error(f"{READ} BLOCK 0 STREAMS {key} >") == (
        f"NOGROUP No such key '{key}' or consumer group 'g' in XREADGROUP with GROUP option"
    )


def test_each_key_is_looked_at_before_its_id(client: Talk) -> None:
    client.do("SET string v")
    assert client.error(f"{READ} STREAMS string bad").startswith("WRONGTYPE ")
    assert client.error(f"{READ} STREAMS missing bad").startswith("NOGROUP ")
    assert client.error(f"{READ} STREAMS s missing bad >") == INVALID_ID


def test_an_error_in_one_stream_and_nothing_is_delivered_from_the_others(client: Talk) -> None:
    client.do("SET string v")
    for request in ("s missing > >", "s string > >", "s s > bad"):
        client.error(f"{READ} STREAMS {request}")
    assert pending(client) == []
    assert client.do("XINFO CONSUMERS s g") == []


# -- waiting -----------------------------------------------------------------------------------


@pytest.fixture
def reader(client: Talk, server: InProcessServer) -> Talk:
    """Waits for new entries as consumer c of group g."""
    client.do("XGROUP SETID s g $")
    reader = Talk(server)
    assert reader.raw(f"{READ} BLOCK 0 STREAMS s >") == b""
    return reader


def test_a_waiter_gets_a_new_entry_and_it_is_pending(client: Talk, reader: Talk) -> None:
    client.do("XADD s 4-1 f d")
    assert reader.received() == [[b"s", [entry("4-1", "f", "d")]]]
    assert pending(client) == [("4-1", "c", 0, 1)]


def test_the_first_waiter_of_a_group_takes_all_and_the_others_wait_on(
    client: Talk, reader: Talk, server: InProcessServer
) -> None:
    second = Talk(server)
    second.raw("XREADGROUP GROUP g d BLOCK 0 STREAMS s >")
    client.pipeline("XADD s 4-1 f d", "XADD s 5-1 f e")
    assert len(reader.received()[0][1]) == 2
    assert second.received() is None
    client.do("XADD s 6-1 f f")
    assert second.received() == [[b"s", [entry("6-1", "f", "f")]]]


def test_a_count_leaves_the_rest_to_the_next_waiter(client: Talk, server: InProcessServer) -> None:
    client.do("XGROUP SETID s g $")
    first, second = Talk(server), Talk(server)
    first.raw("XREADGROUP GROUP g c COUNT 1 BLOCK 0 STREAMS s >")
    second.raw("XREADGROUP GROUP g d COUNT 1 BLOCK 0 STREAMS s >")
    client.pipeline("XADD s 4-1 f d", "XADD s 5-1 f e")
    assert first.received() == [[b"s", [entry("4-1", "f", "d")]]]
    assert second.received() == [[b"s", [entry("5-1", "f", "e")]]]


def test_each_group_gets_its_own_copy(client: Talk, reader: Talk, server: InProcessServer) -> None:
    client.do("XGROUP CREATE s other $")
    second = Talk(server)
    second.raw("XREADGROUP GROUP other c BLOCK 0 STREAMS s >")
    client.do("XADD s 4-1 f d")
    assert reader.received() == second.received()


def test_a_waiter_learns_that_the_group_is_gone(client: Talk, reader: Talk) -> None:
    client.do("XGROUP DESTROY s g")
    assert str(reader.received()).startswith("NOGROUP No such key 's' or consumer group 'g' in ")


@pytest.mark.parametrize("request_", ["DEL s", "UNLINK s", "RENAME s t", "FLUSHALL", "FLUSHDB"])
def test_a_waiter_learns_that_the_key_is_gone(client: Talk, reader: Talk, request_: str) -> None:
    client.do(request_)
    assert str(reader.received()).startswith("NOGROUP ")


def test_a_waiter_learns_that_the_key_has_expired(
    client: Talk, reader: Talk, server: InProcessServer
) -> None:
    client.do("PEXPIRE s 100")
    server.advance(200)
    assert str(reader.received()).startswith("NOGROUP ")


def test_a_waiter_learns_that_the_key_holds_another_type(client: Talk, reader: Talk) -> None:
    client.do("SET s v")
    assert str(reader.received()).startswith("WRONGTYPE ")


def test_a_transaction_that_ends_as_it_began_is_not_seen(client: Talk, reader: Talk) -> None:
    client.pipeline("MULTI", "DEL s", "XGROUP CREATE s g $ MKSTREAM", "EXEC")
    assert reader.received() is None
    client.do("XADD s 4-1 f d")
    assert reader.received() == [[b"s", [entry("4-1", "f", "d")]]]


def test_after_the_timeout_the_reply_is_null(client: Talk, server: InProcessServer) -> None:
    client.do("XGROUP SETID s g $")
    old, new = Talk(server), Talk(server, resp=3)
    old.raw(f"{READ} BLOCK 100 STREAMS s >")
    new.raw(f"{READ} BLOCK 100 STREAMS s >")
    server.advance(100)
    assert old.client.received() == b"*-1\r\n"
    assert new.client.received() == b"_\r\n"


def test_a_client_that_has_left_is_given_nothing(
    client: Talk, reader: Talk, server: InProcessServer
) -> None:
    reader.client.is_gone = True
    client.do("XADD s 4-1 f d")
    assert pending(client) == []


def test_within_a_transaction_no_command_waits(client: Talk) -> None:
    client.do("XGROUP SETID s g $")
    replies = client.pipeline("MULTI", f"{READ} BLOCK 0 STREAMS s >", "EXEC")
    assert replies.endswith(b"*1\r\n*-1\r\n")


def test_an_entry_wakes_all_who_wait_for_it_and_the_first_gets_it(server: InProcessServer) -> None:
    """The others have tried: they are seen, the key was looked up, and they keep their order."""
    client = Talk(server)
    client.do("XGROUP CREATE s g $ MKSTREAM")
    readers = {name: Talk(server) for name in ("a", "b", "c")}
    for name, reader in readers.items():
        assert reader.raw(f"XREADGROUP GROUP g {name} COUNT 1 BLOCK 0 STREAMS s >") == b""
    for number, name in enumerate(readers):
        server.now_ms += 100
        hits = server.instance.stats.keyspace_hits
        client.do(f"XADD s {number + 1}-1 f v")
        assert server.instance.stats.keyspace_hits - hits == len(readers) - number
        ((_, entries),) = readers[name].received()
        assert entries == [entry(f"{number + 1}-1", "f", "v")]
        still_waiting = list(readers)[number + 1 :]
        assert all(consumer(client, other)["idle"] == 0 for other in still_waiting)
        assert all(readers[other].received() is None for other in still_waiting)


@pytest.mark.parametrize("change", ["DEL s", "FLUSHDB", "SET s v", "PEXPIRE s 0"])
def test_other_waiters_do_not_hide_that_the_stream_is_gone(
    server: InProcessServer, change: str
) -> None:
    client, before, reader = (Talk(server) for _ in range(3))
    client.do("XGROUP CREATE s g 0 MKSTREAM")
    assert before.raw("XREAD BLOCK 0 STREAMS s $") == b""
    assert reader.raw("XREADGROUP GROUP g c BLOCK 0 STREAMS s >") == b""
    client.client.execute(*change.split())
    assert str(reader.received()).startswith(("NOGROUP ", "WRONGTYPE "))
    client.all("DEL s", "XADD s 1-1 f v")
    assert before.received() == [[b"s", [entry("1-1", "f", "v")]]]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ("XGROUP DESTROY s g", "NOGROUP"),
        ("DEL s", "NOGROUP"),
        ("SET s x", "WRONGTYPE"),
    ],
)
def test_who_waits_is_told_when_there_is_nothing_more_to_wait_for(
    reader: Talk, client: Talk, change: str, error: str
) -> None:
    client.client.execute(*change.split())
    assert reader.client.received().startswith(b"-" + error.encode())


def test_a_consumer_that_was_deleted_while_it_waited_is_created_again(
    reader: Talk, client: Talk
) -> None:
    client.do("XGROUP DELCONSUMER s g c")
    client.server.instance.ready_keys.signal(0, b"s")
    client.do("PING")
    assert consumer(client)["pending"] == 0


# -- requests that come again ------------------------------------------------------------------

AGAIN = "XREADGROUP GROUP g again COUNT 1 STREAMS s >"


def test_a_request_that_comes_again_is_counted_and_served_as_the_first(client: Talk) -> None:
    """Redis looks at the key twice."""
    stats = client.server.instance.stats
    for fields in ("a", "b", "c"):
        hits = stats.keyspace_hits
        (entries,) = [found for _, found in client.do(AGAIN)]
        assert [entry[1] for entry in entries] == [[b"f", fields.encode()]]
        assert stats.keyspace_hits - hits == 2
    assert client.do(AGAIN) is None


def test_a_request_that_comes_again_finds_what_there_is_now(client: Talk) -> None:
    client.do(AGAIN)
    client.do("XGROUP DESTROY s g")
    assert client.error(AGAIN).startswith("NOGROUP")
    client.all("DEL s", "SET s x")
    assert client.error(AGAIN).startswith("WRONGTYPE")
    client.all("DEL s", "XADD s 7-1 f v", "XGROUP CREATE s g 0")
    assert client.do(AGAIN) == [[b"s", [entry("7-1", "f", "v")]]]


def test_a_timeout_that_leads_beyond_the_end_of_time_is_refused_each_time(client: Talk) -> None:
    """Whether it does depends on the clock."""
    timeout_ms = 2**63 - 1 - NOW_MS - 1000
    request = f"XREADGROUP GROUP g again BLOCK {timeout_ms} STREAMS s 0"
    assert client.do(request) == [[b"s", []]]
    client.server.now_ms += 2000
    assert client.error(request) == "ERR timeout is out of range"


# -- propagation -------------------------------------------------------------------------------


def test_a_delivery_is_propagated_as_claims_and_the_position(
    client: Talk, propagated: list[str]
) -> None:
    client.do(f"{READ} COUNT 2 STREAMS s >")
    assert propagated == [
        "MULTI",
        f"XCLAIM s g c 0 1-1 2-1 TIME {NOW_MS} RETRYCOUNT 1 FORCE JUSTID LASTID 2-1",
        "XGROUP SETID s g 2-1 ENTRIESREAD 2",
        "EXEC",
    ]


def test_with_noack_the_consumer_and_the_position_are_propagated(
    client: Talk, propagated: list[str]
) -> None:
    client.do(f"{READ} NOACK COUNT 1 STREAMS s >")
    client.do(f"{READ} NOACK COUNT 1 STREAMS s >")
    assert propagated == [
        "MULTI",
        "XGROUP CREATECONSUMER s g c",
        "XGROUP SETID s g 1-1 ENTRIESREAD 1",
        "EXEC",
        "XGROUP SETID s g 2-1 ENTRIESREAD 2",
    ]


def test_history_is_not_propagated(client: Talk, propagated: list[str]) -> None:
    client.do(f"{READ} STREAMS s >")
    propagated.clear()
    client.do(f"{READ} STREAMS s 0")
    assert propagated == []


def test_a_new_consumer_that_got_nothing_is_propagated(client: Talk, propagated: list[str]) -> None:
    client.do("XGROUP SETID s g $")
    propagated.clear()
    client.do(f"{READ} STREAMS s >")
    client.do("XREADGROUP GROUP g d STREAMS s 0")
    client.do(f"{READ} STREAMS s >")
    assert propagated == ["XGROUP CREATECONSUMER s g c", "XGROUP CREATECONSUMER s g d"]


def test_a_served_waiter_is_propagated(client: Talk, reader: Talk, propagated: list[str]) -> None:
    client.do("XADD s 4-1 f d")
    assert propagated == [
        "XADD s 4-1 f d",
        "MULTI",
        f"XCLAIM s g c 0 4-1 TIME {NOW_MS} RETRYCOUNT 1 FORCE JUSTID LASTID 4-1",
        "XGROUP SETID s g 4-1 ENTRIESREAD 4",
        "EXEC",
    ]


def test_a_transaction_that_watches_the_key_does_not_fail(
    client: Talk, server: InProcessServer
) -> None:
    client.do("WATCH s")
    Talk(server).do(f"{READ} STREAMS s >")
    client.do("MULTI")
    assert client.raw("EXEC") == b"*0\r\n"
