"""XADD."""

from __future__ import annotations

import pytest

from commands.streams import add
from server.inprocess.server import InProcessServer
from tests.commands.streams.talk import NOW_MS, Talk, carrier, entry

MAX = "18446744073709551615"
ARITY = "ERR wrong number of arguments for 'xadd' command"
INVALID_ID = "ERR Invalid stream ID specified as stream command argument"
TOO_SMALL = "ERR The ID specified in XADD is equal or smaller than the target stream top item"
IDMP_WITH_ID = "ERR syntax error, IDMP/IDMPAUTO can be used only with auto-generated IDs"
EXHAUSTED = "ERR The stream has exhausted the last possible ID, unable to add more items"


# -- the ID ------------------------------------------------------------------------------------


def test_a_star_gives_the_present_time(client: Talk) -> None:
    assert client.raw("XADD s * f v") == b"$15\r\n%d-0\r\n" % NOW_MS
    assert client.do("XRANGE s - +") == [entry(f"{NOW_MS}-0", "f", "v")]


def test_within_one_millisecond_the_sequence_goes_up(client: Talk) -> None:
    client.all("XADD s * f v", "XADD s * f v", "XADD s * f v")
    assert client.ids("s") == [f"{NOW_MS}-0", f"{NOW_MS}-1", f"{NOW_MS}-2"]


def test_ids_go_on_upwards_when_the_clock_steps_back(client: Talk, server: InProcessServer) -> None:
    client.do("XADD s * f v")
    server.now_ms -= 60_000
    assert client.do("XADD s * f v") == f"{NOW_MS}-1".encode()
    server.now_ms += 120_000
    assert client.do("XADD s * f v") == f"{NOW_MS + 60_000}-0".encode()


def test_a_full_millisecond_flows_over_into_the_next(client: Talk) -> None:
    client.do(f"XADD s {NOW_MS + 5}-{MAX} f v")
    assert client.do("XADD s * f v") == f"{NOW_MS + 6}-0".encode()


def test_an_explicit_id_is_taken_as_it_is(client: Talk) -> None:
    assert client.do("XADD s 5-3 f v") == b"5-3"
    assert client.do("XADD s 7 f v") == b"7-0"


@pytest.mark.parametrize("entry_id", ["5-5", "5-4", "4-9", "5", "0-1"])
def test_an_id_that_is_not_above_the_last_one_is_refused(client: Talk, entry_id: str) -> None:
    client.do("XADD s 5-5 f v")
    assert client.error(f"XADD s {entry_id} f v") == TOO_SMALL
    assert client.ids("s") == ["5-5"]


def test_an_id_must_be_above_the_last_one_even_if_that_was_deleted(client: Talk) -> None:
    client.all("XADD s 5-5 f v", "XDEL s 5-5")
    assert client.error("XADD s 5-5 f v") == TOO_SMALL


def test_the_id_zero_is_refused_whatever_is_at_the_key(client: Talk) -> None:
    text = "ERR The ID specified in XADD must be greater than 0-0"
    client.do("SET string v")
    assert client.error("XADD s 0-0 f v") == text
    assert client.error("XADD s 0 f v") == text
    assert client.error("XADD string 0-0 f v") == text
    assert client.do("EXISTS s") == 0


def test_a_millisecond_with_a_star_gets_the_next_sequence(client: Talk) -> None:
    assert client.do("XADD s 5-* f v") == b"5-0"
    assert client.do("XADD s 5-* f v") == b"5-1"
    assert client.do("XADD s 6-* f v") == b"6-0"


def test_the_first_sequence_of_millisecond_zero_is_one(client: Talk) -> None:
    assert client.do("XADD s 0-* f v") == b"0-1"


def test_a_millisecond_with_a_star_in_the_past_is_refused(client: Talk) -> None:
    client.do("XADD s 5-5 f v")
    assert client.error("XADD s 4-* f v") == TOO_SMALL


def test_a_millisecond_without_a_sequence_left_is_refused(client: Talk) -> None:
    client.do(f"XADD s 5-{MAX} f v")
    assert client.error("XADD s 5-* f v") == TOO_SMALL


@pytest.mark.parametrize("entry_id", ["*", "5-5", f"{MAX}-*", f"{MAX}-{MAX}"])
def test_after_the_last_possible_id_nothing_can_be_added(client: Talk, entry_id: str) -> None:
    client.do(f"XADD s {MAX}-{MAX} f v")
    assert client.error(f"XADD s {entry_id} f v") == EXHAUSTED
    assert client.do("XLEN s") == 1


@pytest.mark.parametrize("entry_id", ["-", "+", "$", ">", "bad", "1-1-1", "1-**", "(5", f"{MAX}0"])
def test_what_is_neither_an_option_nor_an_id_is_an_invalid_id(client: Talk, entry_id: str) -> None:
    assert client.error(f"XADD s {entry_id} f v") == INVALID_ID
    assert client.do("EXISTS s") == 0


# -- fields ------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["NOMKSTREAM", "KEEPREF", "ACKED", "LIMIT 5"])
def test_a_star_that_names_a_producer_is_not_taken_for_the_id(client: Talk, option: str) -> None:
    client.do("XADD s 5-5 f v")
    if option.startswith("LIMIT"):
        assert client.error(f"XADD s MAXLEN 5 IDMPAUTO * {option} * f v").startswith("ERR syntax")
    else:
        assert client.do(f"XADD s MAXLEN 5 IDMPAUTO * {option} * f v")
        assert client.do("XLEN s") == 2
    assert client.error("XADD s MAXLEN 5 IDMPAUTO * * f v x") == (
        "ERR wrong number of arguments for 'xadd' command"
    )


@pytest.mark.parametrize("words", ["* f v g", "5-5 f v g", "MAXLEN 5 5-5 f", "NOMKSTREAM * f v g"])
def test_fields_and_values_come_in_pairs(client: Talk, words: str) -> None:
    assert client.error(f"XADD s {words}") == ARITY


@pytest.mark.parametrize("words", ["MAXLEN 5 5-5", "NOMKSTREAM NOMKSTREAM NOMKSTREAM", "MINID 5 *"])
def test_an_entry_without_fields_is_refused(client: Talk, words: str) -> None:
    assert client.error(f"XADD s {words}") == ARITY


def test_a_missing_pair_is_noticed_before_the_id_zero(client: Talk) -> None:
    assert client.error("XADD s 0-0 f v g") == ARITY


def test_fields_are_kept_in_order_and_may_repeat(client: Talk) -> None:
    client.do("XADD s 1-1 b 1 a 2 b 3")
    assert client.do("XRANGE s - +") == [entry("1-1", "b", "1", "a", "2", "b", "3")]


def test_fields_and_values_may_be_empty_or_binary(client: Talk) -> None:
    client.client.execute("XADD", "s", "1-1", b"", b"\x00\r\n\xff")
    assert client.do("XRANGE s - +") == [[b"1-1", [b"", b"\x00\r\n\xff"]]]


@pytest.mark.parametrize("key", ["s", "new"])
@pytest.mark.parametrize("form", ["*", "5-5", "MAXLEN 0 *"])
def test_an_entry_that_is_too_large_changes_nothing(
    client: Talk, monkeypatch: pytest.MonkeyPatch, key: str, form: str
) -> None:
    client.do("XADD s 1-1 f v")
    monkeypatch.setattr(add, "MAX_ENTRY_BYTES", 10)
    assert client.error(f"XADD {key} {form} field values") == (
        "ERR Elements are too large to be stored"
    )
    assert client.ids("s") == ["1-1"]
    assert client.do("EXISTS new") == 0
    assert client.do(f"XADD {key} {form} field value")


def test_redis_takes_entries_of_up_to_a_gibibyte() -> None:
    assert add.MAX_ENTRY_BYTES == 1024**3


# -- the key -----------------------------------------------------------------------------------


def test_a_key_of_another_type_is_refused(client: Talk) -> None:
    client.do("SET s v")
    text = "WRONGTYPE Operation against a key holding the wrong kind of value"
    assert client.error("XADD s * f v") == text
    assert client.error("XADD s NOMKSTREAM 5-5 f v") == text


def test_nomkstream_does_not_create_a_stream(client: Talk, resp3: Talk) -> None:
    assert client.raw("XADD s NOMKSTREAM * f v") == b"$-1\r\n"
    assert resp3.raw("XADD s nomkstream 5-5 f v") == b"_\r\n"
    assert client.do("EXISTS s") == 0


def test_nomkstream_adds_to_a_stream_that_is_there(client: Talk) -> None:
    client.do("XADD s 1-1 f v")
    assert client.do("XADD s NOMKSTREAM 2-2 f v") == b"2-2"


def test_nomkstream_does_not_hide_errors_of_the_request(client: Talk) -> None:
    assert client.error("XADD s NOMKSTREAM 0-0 f v").endswith("must be greater than 0-0")
    assert client.error("XADD s NOMKSTREAM bad f v") == INVALID_ID


def test_adding_does_not_take_the_time_to_live_away(client: Talk) -> None:
    client.all("XADD s 1-1 f v", "PEXPIRE s 5000", "XADD s 2-2 f v")
    assert client.do("PTTL s") == 5000


# -- trimming ----------------------------------------------------------------------------------


def test_the_entry_is_added_before_the_stream_is_trimmed(client: Talk) -> None:
    client.all("XADD s 1-1 f v", "XADD s 2-2 f v")
    assert client.do("XADD s MAXLEN 2 3-3 f v") == b"3-3"
    assert client.ids("s") == ["2-2", "3-3"]


def test_maxlen_zero_leaves_an_empty_stream_and_still_gives_the_id(client: Talk) -> None:
    assert client.do("XADD s MAXLEN 0 3-3 f v") == b"3-3"
    assert client.do("XLEN s") == 0
    assert client.do("EXISTS s") == 1
    assert client.error("XADD s 3-3 f v") == TOO_SMALL


def test_minid_above_the_new_entry_removes_it_as_well(client: Talk) -> None:
    client.all("XADD s 1-1 f v", "XADD s MINID 9 3-3 f v")
    assert client.ids("s") == []


def test_options_come_in_any_order_and_case(client: Talk) -> None:
    client.all("XADD s 1-1 f v", "XADD s maxlen = 1 nomkstream 2-2 f v")
    client.do("XADD s NOMKSTREAM LIMIT 0 MaxLen ~ 1 3-3 f v")
    assert client.ids("s") == ["2-2", "3-3"]  # one node, so nothing to remove for ~


def test_the_default_limit_of_a_cap_follows_the_size_of_nodes(
    client: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(add, "MAX_CAPS", 2)
    client.do("CONFIG SET stream-node-max-entries 1")
    client.all(*(f"XADD s {n}-1 f v" for n in range(1, 301)))
    client.do("XADD s MAXLEN ~ 1 301-1 f v")  # no more than 100 nodes, of one entry each
    assert client.do("XLEN s") == 201
    client.do("CONFIG SET stream-node-max-entries 2")
    client.do("XADD s MAXLEN ~ 1 302-1 f v")
    assert client.do("XLEN s") == 2
    for length in (5, 4, 3, 5):  # more caps than are known
        client.do(f"XADD s MAXLEN = {length} * f v")
    assert client.do("XLEN s") == 4


def test_a_cap_that_is_no_number_is_refused(client: Talk) -> None:
    client.do("XADD s 1-1 f v")
    for cap in (b"x", b"1\r\n", b"", b"1\0"):
        refusal = client.client.execute("XADD", "s", "MAXLEN", "=", cap, "*", "f", "v")
        assert refusal == b"-ERR value is not an integer or out of range\r\n", cap
    assert client.error("XADD s MAXLEN -1 * f v") == "ERR The MAXLEN argument must be >= 0."
    assert client.ids("s") == ["1-1"]


def test_an_unknown_option_is_taken_for_an_id(client: Talk) -> None:
    assert client.error("XADD s MAXLEN 5 FOO 5-5 f v") == INVALID_ID
    assert client.error("XADD s FOO * f v") == INVALID_ID


def test_options_are_checked_before_the_fields_and_the_key(client: Talk) -> None:
    client.do("SET s v")
    assert client.error("XADD s MAXLEN 5 LIMIT 5 * f") == (
        "ERR syntax error, LIMIT cannot be used without the special ~ option"
    )


# -- what follows ------------------------------------------------------------------------------


def test_events_tell_of_the_new_key_the_entry_and_the_trim(
    client: Talk, events: list[tuple[str, str]]
) -> None:
    client.do("XADD s 1-1 f v")
    assert events == [("new", "s"), ("xadd", "s")]
    events.clear()
    client.do("XADD s MAXLEN 1 2-2 f v")
    assert events == [("xadd", "s"), ("xtrim", "s")]
    events.clear()
    client.do("XADD s MAXLEN 5 3-3 f v")
    assert events == [("xadd", "s")]


def test_an_entry_fails_a_transaction_that_watches_the_key(
    client: Talk, server: InProcessServer
) -> None:
    other = Talk(server)
    client.all("XADD s 1-1 f v", "WATCH s")
    other.do("XADD s 2-2 f v")
    client.do("MULTI")
    client.raw("XLEN s")
    assert client.raw("EXEC") == b"*-1\r\n"


def test_a_given_id_is_propagated_in_place_of_a_star(client: Talk, propagated: list[str]) -> None:
    client.all("XADD s * f v g w", "XADD s 1900000000000-* f v", "XADD s 1900000000005-5 f v")
    assert propagated == [
        f"XADD s {NOW_MS}-0 f v g w",
        "XADD s 1900000000000-0 f v",
        "XADD s 1900000000005-5 f v",
    ]


def test_options_are_propagated_and_an_approximate_trim_as_an_exact_one(
    client: Talk, server: InProcessServer, propagated: list[str]
) -> None:
    server.instance.config.stream_node_max_entries = 2
    client.all(*(f"XADD s {i}-1 f v" for i in range(1, 6)))
    propagated.clear()
    client.do("XADD s NOMKSTREAM MAXLEN ~ 3 LIMIT 100 6-* f v")
    assert propagated == ["XADD s NOMKSTREAM MAXLEN = 4 6-0 f v"]
    assert client.ids("s") == ["3-1", "4-1", "5-1", "6-0"]
    client.do("XADD s MINID ~ 6 * f v")
    assert propagated[1:] == [f"XADD s MINID = 5-1 {NOW_MS}-0 f v"]
    assert client.ids("s") == ["5-1", "6-0", f"{NOW_MS}-0"]
    client.do("XADD s MAXLEN ~ 100 1900000000000-0 f v")
    assert propagated[2:] == ["XADD s MAXLEN = 4 1900000000000-0 f v"]
    client.do("XADD s maxlen = 5 1900000000000-1 f v")
    client.do("XADD s MAXLEN 2 1900000000001-0 f v")
    assert propagated[3:] == [
        "XADD s maxlen = 5 1900000000000-1 f v",
        "XADD s MAXLEN 2 1900000000001-0 f v",
    ]
    assert client.ids("s") == ["1900000000000-1", "1900000000001-0"]
    client.do("XADD s maxlen ~ 1 * f v")
    assert propagated[5:] == ["XADD s MAXLEN = 1 1900000000001-1 f v"]


def test_a_request_that_adds_nothing_is_not_propagated(client: Talk, propagated: list[str]) -> None:
    client.do("XADD s NOMKSTREAM * f v")
    client.error("XADD s 0-0 f v")
    assert propagated == []


# -- blocked clients ---------------------------------------------------------------------------


def test_entries_of_one_cycle_reach_a_waiter_as_one_reply(
    client: Talk, server: InProcessServer
) -> None:
    reader = Talk(server)
    assert reader.raw("XREAD BLOCK 0 STREAMS s $") == b""
    client.pipeline("XADD s 1-1 f v", "XADD s 2-2 f v")
    assert reader.received() == [[b"s", [entry("1-1", "f", "v"), entry("2-2", "f", "v")]]]


@pytest.mark.parametrize("trim", ["MAXLEN 1", "MAXLEN ~ 1", "MINID 2-2", "MINID ~ 2-2"])
def test_a_waiter_gets_what_a_later_entry_of_the_cycle_would_trim_away(
    client: Talk, server: InProcessServer, trim: str
) -> None:
    server.instance.config.stream_node_max_entries = 1
    reader = Talk(server)
    reader.raw("XREAD BLOCK 0 STREAMS s $")
    client.pipeline("XADD s 1-1 f v", f"XADD s {trim} 2-2 f v")
    assert reader.received() == [[b"s", [entry("1-1", "f", "v")]]]
    assert client.ids("s") == ["2-2"]


def test_a_trim_that_removes_nothing_does_not_part_the_reply(
    client: Talk, server: InProcessServer
) -> None:
    reader = Talk(server)
    reader.raw("XREAD BLOCK 0 STREAMS s $")
    client.pipeline("XADD s 1-1 f v", "XADD s MAXLEN ~ 2 2-2 f v", "XADD s MAXLEN 3 3-3 f v")
    assert len(reader.received()[0][1]) == 3


def test_a_transaction_is_whole_before_a_waiter_sees_it(
    client: Talk, server: InProcessServer
) -> None:
    reader = Talk(server)
    reader.raw("XREAD BLOCK 0 STREAMS s $")
    client.pipeline("MULTI", "XADD s 1-1 f v", "XADD s MAXLEN 1 2-2 f v", "EXEC")
    assert reader.received() == [[b"s", [entry("2-2", "f", "v")]]]


# -- idempotent producers ----------------------------------------------------------------------


def test_what_a_producer_sends_again_is_answered_with_the_first_id(
    client: Talk, server: InProcessServer
) -> None:
    first = client.do("XADD s IDMP p 1 * f a")
    server.now_ms += 1
    assert client.do("XADD s IDMP p 1 * f other") == first
    assert client.ids("s") == [first.decode()]
    assert client.do("XADD s IDMP p 2 * f a") != first
    assert client.do("XADD s IDMP q 1 * f a") != first
    assert client.do("XADD t IDMP p 1 * f a") == b"%d-0" % server.now_ms
    info = client.fields("XINFO STREAM s")
    assert (info["pids-tracked"], info["iids-tracked"]) == (2, 3)
    assert (info["iids-added"], info["iids-duplicates"]) == (3, 1)


def test_idmpauto_knows_an_entry_by_its_pairs_in_any_order(client: Talk) -> None:
    first = client.do("XADD s IDMPAUTO p * a 1 b 2")
    assert client.do("XADD s IDMPAUTO p * b 2 a 1") == first
    assert client.do("XADD s IDMPAUTO q * a 1 b 2") != first
    assert client.do("XADD s IDMPAUTO p * a 2 b 1") != first
    assert client.do("XADD s IDMPAUTO p * a 1 b 2 a 1") != first


def test_ids_of_producers_may_be_long_and_binary(client: Talk) -> None:
    execute = client.client.execute
    first = execute("XADD", "s", "IDMP", b"\r\n\0", b"\xff" * 65536, "*", "f", "v")
    assert execute("XADD", "s", "IDMP", b"\r\n\0", b"\xff" * 65536, "*", "f", "v") == first


def test_an_entry_that_its_own_trim_removes_is_recorded_before(
    client: Talk, server: InProcessServer, propagated: list[str]
) -> None:
    entry_id = client.do("XADD s IDMP p 1 MINID 9999999999998 * f v").decode()
    assert client.do("XLEN s") == 0
    words = [line.split()[0] for line in propagated[1:-1]]
    assert words == ["XADD", carrier("XIDMPRECORD").split()[0], "XTRIM"]
    assert propagated[1] == f"XADD s {entry_id} f v"


def test_a_duplicate_neither_trims_nor_needs_its_entry(
    client: Talk, server: InProcessServer, events: list[tuple[str, str]], propagated: list[str]
) -> None:
    first = client.do("XADD s IDMP p 1 * f a")
    client.all("XADD s * f b", f"XDEL s {first.decode()}", "WATCH s")
    del events[:], propagated[:]
    server.now_ms += 1
    assert Talk(server).do("XADD s IDMP p 1 MAXLEN 0 * f a") == first
    assert client.do("XLEN s") == 1
    assert events == []
    assert propagated == [carrier("XADD s IDMP p 1 MAXLEN 0 * f a")]
    client.do("MULTI")
    assert client.raw("EXEC") == b"*0\r\n"


def test_a_producers_option_goes_with_all_others(client: Talk) -> None:
    assert client.raw("XADD s NOMKSTREAM IDMP p 1 * f v") == b"$-1\r\n"
    first = client.do("XADD s KEEPREF MAXLEN ~ 5 IDMP p 1 LIMIT 0 * f v")
    assert client.do("XADD s idmp p 1 nomkstream ACKED MINID 5 * f v") == first
    client.do("MULTI")
    client.all("XADD s IDMP p 1 * f v", "XADD s IDMP p 2 * f v")
    assert client.do("EXEC")[0] == first
    assert client.do("XLEN s") == 2


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("IDMP p 1 5-1", IDMP_WITH_ID),
        ("IDMP p 1 5-*", IDMP_WITH_ID),
        ("IDMPAUTO p 5", IDMP_WITH_ID),
        ("IDMP p 1 IDMP p 1 *", "ERR syntax error, IDMP/IDMPAUTO specified multiple times"),
        ("IDMPAUTO p IDMP p 1 *", "ERR syntax error, IDMP/IDMPAUTO specified multiple times"),
        ("IDMP p *", INVALID_ID),
        ("IDMPAUTO *", INVALID_ID),
        ("ACKED DELREF *", INVALID_ID),
    ],
)  # fmt: skip
def test_options_of_producers_that_do_not_fit_are_refused(
    client: Talk, options: str, text: str
) -> None:
    assert client.error(f"XADD s {options} f v") == text
    assert client.do("EXISTS s") == 0


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("IDMP", "", "1"), b"-ERR syntax error, IDMP requires a non-empty producer ID\r\n"),
        (("IDMP", "p", ""), b"-ERR syntax error, IDMP requires a non-empty idempotent ID\r\n"),
        (("IDMPAUTO", ""), b"-ERR syntax error, IDMPAUTO requires a non-empty producer ID\r\n"),
    ],
)
def test_ids_of_producers_may_not_be_empty(
    client: Talk, words: tuple[str, ...], text: bytes
) -> None:
    assert client.client.execute("XADD", "s", *words, "*", "f", "v") == text


def test_a_refused_entry_leaves_no_producer(client: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    client.do("XADD s * f v")
    monkeypatch.setattr(add, "MAX_ENTRY_BYTES", 5)
    assert (
        client.error("XADD s IDMP p 1 * field value") == "ERR Elements are too large to be stored"
    )
    client.do(f"XADD s {MAX}-{MAX} f v")
    assert client.error("XADD s IDMP p 1 * f v") == EXHAUSTED
    info = client.fields("XINFO STREAM s")
    assert (info["pids-tracked"], info["iids-tracked"], info["iids-added"]) == (0, 0, 0)


def test_an_entry_of_a_producer_is_propagated_with_its_id_which_is_taken_from_a_file_only(
    client: Talk, server: InProcessServer, propagated: list[str]
) -> None:
    first = client.do("XADD s IDMP p 1 * f v").decode()
    note = carrier(f"XIDMPRECORD s p 1 {first}")
    assert propagated == ["MULTI", f"XADD s {first} f v", note, "EXEC"]
    file = Talk(InProcessServer())
    file.client.state.replays = True
    assert file.do(f"XADD s IDMP p 1 {first} f v") == first.encode()
    assert file.do("XADD s IDMP p 1 * f v") == first.encode()


def test_a_copy_adds_what_its_original_added_and_nothing_else_whatever_it_remembers(
    server: InProcessServer,
) -> None:
    copy = Talk(server)
    copy.client.state.replays = True
    copy.all("XADD s IDMP p 1 1-1 f v", "XADD s IDMP p 2 2-1 f v")
    copy.do("XADD s IDMP p 1 3-1 f v")  # its original had forgotten
    assert copy.do("XADD s IDMP p 1 * f v") == b"3-1"
    assert copy.do("XADD s IDMP p 3 * f v") is None  # a duplicate that is forgotten here
    assert copy.ids("s") == ["1-1", "2-1", "3-1"]
    assert copy.fields("XINFO STREAM s")["iids-tracked"] == 2
