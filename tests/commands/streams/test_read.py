"""XREAD."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessServer
from tests.commands.streams.talk import Talk, entry

MAX = "18446744073709551615"
INVALID_ID = "ERR Invalid stream ID specified as stream command argument"


@pytest.fixture
def client(server: InProcessServer) -> Talk:
    """With two streams."""
    client = Talk(server)
    client.all("XADD s 1-1 f a", "XADD s 2-1 f b", "XADD s 3-1 f c", "XADD t 5-5 f d")
    return client


# -- at once -----------------------------------------------------------------------------------


def test_entries_after_an_id_are_returned(client: Talk) -> None:
    assert client.do("XREAD STREAMS s 1-1") == [
        [b"s", [entry("2-1", "f", "b"), entry("3-1", "f", "c")]]
    ]
    assert client.do("XREAD STREAMS s 2") == client.do("XREAD STREAMS s 1-1")


def test_the_reply_is_a_map_in_resp3_and_an_array_of_pairs_in_resp2(
    client: Talk, resp3: Talk
) -> None:
    entries = b"*1\r\n*2\r\n$3\r\n5-5\r\n*2\r\n$1\r\nf\r\n$1\r\nd\r\n"
    assert client.raw("XREAD STREAMS t 0") == b"*1\r\n*2\r\n$1\r\nt\r\n" + entries
    assert resp3.raw("XREAD STREAMS t 0") == b"%1\r\n$1\r\nt\r\n" + entries


def test_nothing_to_read_is_null(client: Talk, resp3: Talk) -> None:
    for request in ("XREAD STREAMS s 3-1", "XREAD STREAMS missing 0", "XREAD STREAMS s t $ $"):
        assert client.raw(request) == b"*-1\r\n"
        assert resp3.raw(request) == b"_\r\n"


def test_streams_without_news_are_left_out(client: Talk) -> None:
    reply = client.do("XREAD STREAMS s missing t 3-1 0 0")
    assert reply == [[b"t", [entry("5-5", "f", "d")]]]


def test_a_count_holds_for_each_stream(client: Talk) -> None:
    client.do("XADD t 6-6 f e")
    reply = client.do("XREAD COUNT 1 STREAMS s t 0 0")
    assert [(key, len(entries)) for key, entries in reply] == [(b"s", 1), (b"t", 1)]


def test_the_same_request_with_another_id_reads_from_there(client: Talk) -> None:
    for _ in range(2):
        for behind, count in (("0", 3), ("1-1", 2), ("2-1", 1)):
            [[_, entries]] = client.do(f"XREAD COUNT 5 STREAMS s {behind}")
            assert len(entries) == count
        assert client.do("XREAD COUNT 5 STREAMS s $") is None
        assert client.do("XREAD COUNT 5 STREAMS s +") == [[b"s", [entry("3-1", "f", "c")]]]
        assert client.error("XREAD COUNT 5 STREAMS s no-id") == INVALID_ID


def test_a_key_that_is_given_twice_is_served_twice(client: Talk) -> None:
    reply = client.do("XREAD STREAMS s s 0 2-1")
    assert [len(entries) for _, entries in reply] == [3, 1]


def test_nothing_is_after_the_last_possible_id(client: Talk) -> None:
    client.do(f"XADD s {MAX}-{MAX} f v")
    assert client.raw(f"XREAD STREAMS s {MAX}-{MAX}") == b"*-1\r\n"


def test_deleted_entries_are_no_news(client: Talk) -> None:
    client.do("XDEL s 2-1 3-1")
    assert client.raw("XREAD STREAMS s 1-1") == b"*-1\r\n"


# -- special IDs -------------------------------------------------------------------------------


def test_a_plus_returns_the_newest_entry_whatever_the_count(client: Talk) -> None:
    newest = [[b"s", [entry("3-1", "f", "c")]]]
    assert client.do("XREAD STREAMS s +") == newest
    assert client.do("XREAD COUNT 10 STREAMS s +") == newest
    assert client.do("XREAD COUNT 0 BLOCK 0 STREAMS s +") == newest


def test_the_newest_entry_is_one_that_still_exists(client: Talk) -> None:
    client.do("XDEL s 3-1")
    assert client.do("XREAD STREAMS s +") == [[b"s", [entry("2-1", "f", "b")]]]


def test_an_empty_or_missing_stream_has_no_newest_entry(client: Talk) -> None:
    client.do("XTRIM s MAXLEN 0")
    assert client.raw("XREAD STREAMS s missing + +") == b"*-1\r\n"


def test_new_entries_of_a_group_need_a_group(client: Talk) -> None:
    assert client.error("XREAD STREAMS s >") == (
        "ERR The > ID can be specified only when calling XREADGROUP using the"
        " GROUP <group> <consumer> option."
    )


@pytest.mark.parametrize("entry_id", ["bad", "-", "(1", "*", "1-*", ""])
def test_other_words_are_invalid_ids(client: Talk, entry_id: str) -> None:
    reply = client.client.execute("XREAD", "STREAMS", "s", entry_id)
    assert reply == b"-%b\r\n" % INVALID_ID.encode()


def test_each_key_is_looked_at_before_its_id(client: Talk) -> None:
    client.do("SET string v")
    wrong_type = "WRONGTYPE Operation against a key holding the wrong kind of value"
    assert client.error("XREAD STREAMS string bad") == wrong_type
    assert client.error("XREAD STREAMS s string 0 0") == wrong_type
    assert client.error("XREAD STREAMS s string bad 0") == INVALID_ID


# -- waiting -----------------------------------------------------------------------------------


def test_what_is_there_is_returned_without_waiting(client: Talk) -> None:
    assert client.do("XREAD BLOCK 0 STREAMS s 2-1") == [[b"s", [entry("3-1", "f", "c")]]]


def test_a_dollar_is_the_last_id_at_the_time_of_the_request(
    client: Talk, server: InProcessServer
) -> None:
    reader = Talk(server)
    assert reader.raw("XREAD BLOCK 0 STREAMS s missing $ $") == b""
    client.do("XADD missing 1-1 f x")
    assert reader.received() == [[b"missing", [entry("1-1", "f", "x")]]]


def test_a_dollar_is_the_last_id_even_if_that_entry_was_deleted(
    client: Talk, server: InProcessServer
) -> None:
    client.do("XDEL s 3-1")
    reader = Talk(server)
    reader.raw("XREAD BLOCK 0 STREAMS s $")
    client.do("XADD s 3-2 f x")
    assert reader.received() == [[b"s", [entry("3-2", "f", "x")]]]


def test_all_waiters_get_the_entry_each_in_its_protocol(
    client: Talk, server: InProcessServer
) -> None:
    old, new = Talk(server), Talk(server, resp=3)
    old.raw("XREAD BLOCK 0 STREAMS s $")
    new.raw("XREAD BLOCK 0 STREAMS s $")
    client.do("XADD s 4-1 f x")
    entries = b"*1\r\n*2\r\n$3\r\n4-1\r\n*2\r\n$1\r\nf\r\n$1\r\nx\r\n"
    assert old.client.received() == b"*1\r\n*2\r\n$1\r\ns\r\n" + entries
    assert new.client.received() == b"%1\r\n$1\r\ns\r\n" + entries


def test_a_waiter_is_served_only_by_ids_after_its_own(
    client: Talk, server: InProcessServer
) -> None:
    reader = Talk(server)
    reader.raw("XREAD BLOCK 0 STREAMS s 9-9")
    client.do("XADD s 4-1 f x")
    assert reader.received() is None
    client.do("XADD s 10-1 f y")
    assert reader.received() == [[b"s", [entry("10-1", "f", "y")]]]


def test_a_count_holds_for_a_waiter_too(client: Talk, server: InProcessServer) -> None:
    reader = Talk(server)
    reader.raw("XREAD COUNT 1 BLOCK 0 STREAMS s $")
    client.pipeline("XADD s 4-1 f x", "XADD s 5-1 f y")
    assert reader.received() == [[b"s", [entry("4-1", "f", "x")]]]


def test_a_plus_waits_for_the_first_entry_of_an_empty_stream(
    client: Talk, server: InProcessServer
) -> None:
    reader = Talk(server)
    assert reader.raw("XREAD BLOCK 0 STREAMS missing +") == b""
    client.do("XADD missing 1-1 f x")
    assert reader.received() == [[b"missing", [entry("1-1", "f", "x")]]]


def test_a_plus_is_the_newest_entry_when_the_waiter_is_served(
    client: Talk, server: InProcessServer
) -> None:
    reader = Talk(server)
    reader.raw("XREAD BLOCK 0 STREAMS missing +")
    client.pipeline("MULTI", "XADD missing 1-1 f x", "XADD missing 2-2 f y", "EXEC")
    assert reader.received() == [[b"missing", [entry("2-2", "f", "y")]]]


def test_after_the_timeout_the_reply_is_null(server: InProcessServer) -> None:
    old, new = Talk(server), Talk(server, resp=3)
    old.raw("XREAD BLOCK 100 STREAMS missing $")
    new.raw("XREAD BLOCK 100 STREAMS missing $")
    server.advance(99)
    assert old.client.received() == b""
    server.advance(1)
    assert old.client.received() == b"*-1\r\n"
    assert new.client.received() == b"_\r\n"


def test_deletion_and_another_type_do_not_wake_a_reader(
    client: Talk, server: InProcessServer
) -> None:
    reader = Talk(server)
    reader.raw("XREAD BLOCK 0 STREAMS s $")
    client.all("DEL s", "SET s v", "DEL s")
    assert reader.received() is None
    client.do("XADD s 4-1 f x")
    assert reader.received() == [[b"s", [entry("4-1", "f", "x")]]]


def test_a_key_that_becomes_a_stream_wakes_a_reader(client: Talk, server: InProcessServer) -> None:
    reader = Talk(server)
    reader.raw("XREAD BLOCK 0 STREAMS missing 0")
    client.do("RENAME t missing")
    assert reader.received() == [[b"missing", [entry("5-5", "f", "d")]]]


def test_within_a_transaction_no_command_waits(client: Talk) -> None:
    replies = client.pipeline("MULTI", "XREAD BLOCK 0 STREAMS s $", "XADD s 4-1 f x", "EXEC")
    assert replies.endswith(b"*2\r\n*-1\r\n$3\r\n4-1\r\n")
