"""XGROUP."""

from __future__ import annotations

from typing import Any

import pytest

from server.inprocess.server import InProcessServer
from tests.commands.streams.talk import Talk

NO_KEY = (
    "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to"
    " use the MKSTREAM option to create an empty stream automatically."
)
INVALID_ID = "ERR Invalid stream ID specified as stream command argument"
NOT_AN_INTEGER = "ERR value is not an integer or out of range"
MAX = "18446744073709551615"


@pytest.fixture
def client(server: InProcessServer) -> Talk:
    """With a stream of two entries and a group at its beginning."""
    client = Talk(server)
    client.all("XADD s 1-1 f v", "XADD s 2-1 f v", "XGROUP CREATE s g 0")
    return client


def group(client: Talk, name: str) -> dict[str, Any]:
    for flat in client.do("XINFO GROUPS s"):
        if flat[1] == name.encode():
            return {k.decode(): v for k, v in zip(flat[::2], flat[1::2], strict=True)}
    raise AssertionError(f"no group {name}")


def syntax(sub: str) -> str:
    return f"ERR unknown subcommand or wrong number of arguments for '{sub}'. Try XGROUP HELP."


# -- CREATE ------------------------------------------------------------------------------------


def test_a_group_begins_behind_the_given_id(client: Talk) -> None:
    assert client.raw("XGROUP CREATE s h 1-1") == b"+OK\r\n"
    assert group(client, "h")["last-delivered-id"] == b"1-1"
    assert group(client, "h")["entries-read"] is None


def test_a_dollar_is_the_last_id_of_the_stream(client: Talk) -> None:
    client.do("XGROUP CREATE s h $")
    assert group(client, "h")["last-delivered-id"] == b"2-1"


def test_a_group_may_begin_behind_ids_that_are_to_come(client: Talk) -> None:
    client.do("XGROUP CREATE s h 99-99")
    assert group(client, "h")["last-delivered-id"] == b"99-99"


def test_mkstream_creates_an_empty_stream(client: Talk) -> None:
    assert client.do("XGROUP CREATE new g $ MKSTREAM") == b"OK"
    assert client.do("XLEN new") == 0
    assert client.do("XINFO GROUPS new")[0][7] == b"0-0"


def test_options_come_in_any_order_and_case(client: Talk) -> None:
    client.do("XGROUP CREATE s h 1 entriesread 1 mkstream")
    client.do("XGROUP CREATE s i 1 MKSTREAM ENTRIESREAD 2")
    client.do("XGROUP CREATE s j 1 ENTRIESREAD -1")
    assert [group(client, name)["entries-read"] for name in "hij"] == [1, 2, None]


def test_a_group_of_that_name_is_a_busygroup_with_mkstream_too(client: Talk) -> None:
    text = "BUSYGROUP Consumer Group name already exists"
    assert client.error("XGROUP CREATE s g 0") == text
    assert client.error("XGROUP CREATE s g $ MKSTREAM") == text


def test_without_mkstream_the_key_must_exist(client: Talk) -> None:
    assert client.error("XGROUP CREATE new g 0") == NO_KEY
    assert client.error("XGROUP CREATE new g bad") == NO_KEY
    assert client.do("EXISTS new") == 0


@pytest.mark.parametrize("entry_id", ["bad", "-", "+", ">", "(1", "1-*"])
def test_an_invalid_id_is_refused_and_creates_no_key(client: Talk, entry_id: str) -> None:
    assert client.error(f"XGROUP CREATE new g {entry_id} MKSTREAM") == INVALID_ID
    assert client.error(f"XGROUP CREATE s g {entry_id}") == INVALID_ID
    assert client.do("EXISTS new") == 0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("FOO", syntax("CREATE")),
        ("MKSTREAM FOO", syntax("CREATE")),
        ("ENTRIESREAD", syntax("CREATE")),
        ("ENTRIESREAD x", NOT_AN_INTEGER),
        ("ENTRIESREAD -2", "ERR value for ENTRIESREAD must be positive or -1"),
        ("MKSTREAM MKSTREAM MKSTREAM MKSTREAM", syntax("CREATE")),
    ],
)
def test_bad_options_of_create_are_refused_before_the_key_is_looked_at(
    client: Talk, options: str, text: str
) -> None:
    for key in ("s", "missing"):
        assert client.error(f"XGROUP CREATE {key} h 0 {options}") == text
    assert client.do("EXISTS missing") == 0


# -- SETID -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry_id", "expected"),
    [("1-1", "1-1"), ("$", "2-1"), ("0", "0-0"), ("-", "0-0"), ("+", f"{MAX}-{MAX}")],
)
def test_a_group_can_be_set_to_any_id(client: Talk, entry_id: str, expected: str) -> None:
    assert client.raw(f"XGROUP SETID s g {entry_id}") == b"+OK\r\n"
    assert group(client, "g")["last-delivered-id"] == expected.encode()


def test_entries_read_is_unknown_afterwards_unless_it_is_given(client: Talk) -> None:
    client.do("XGROUP SETID s g 1-1 ENTRIESREAD 1")
    assert group(client, "g")["entries-read"] == 1
    client.do("XGROUP SETID s g 1-1")
    assert group(client, "g")["entries-read"] is None


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("s g bad", INVALID_ID),
        ("s g 0 MKSTREAM", syntax("SETID")),
        ("s g 0 ENTRIESREAD", syntax("SETID")),
        ("s g 0 ENTRIESREAD 1 ENTRIESREAD 1", syntax("SETID")),
        ("s g 0 ENTRIESREAD x", NOT_AN_INTEGER),
        ("s g 0 ENTRIESREAD -2", "ERR value for ENTRIESREAD must be positive or -1"),
        ("missing g 0 FOO", syntax("SETID")),
        ("missing g bad", NO_KEY),
        ("s nobody bad", "NOGROUP No such consumer group 'nobody' for key name 's'"),
    ],
)
def test_bad_requests_of_setid_are_refused(client: Talk, words: str, text: str) -> None:
    assert client.error(f"XGROUP SETID {words}") == text
    assert group(client, "g")["last-delivered-id"] == b"0-0"


# -- DESTROY -----------------------------------------------------------------------------------


def test_a_destroyed_group_is_gone_with_all_that_is_pending(client: Talk) -> None:
    client.do("XREADGROUP GROUP g c STREAMS s >")
    assert client.raw("XGROUP DESTROY s g") == b":1\r\n"
    assert client.raw("XGROUP DESTROY s g") == b":0\r\n"
    client.do("XGROUP CREATE s g 0")
    assert client.do("XPENDING s g")[0] == 0
    assert client.do("XINFO CONSUMERS s g") == []


# -- consumers ---------------------------------------------------------------------------------


def test_a_consumer_can_be_created_once(client: Talk) -> None:
    assert client.raw("XGROUP CREATECONSUMER s g c") == b":1\r\n"
    assert client.raw("XGROUP CREATECONSUMER s g c") == b":0\r\n"


def test_a_deleted_consumer_takes_its_pending_entries_with_it(client: Talk) -> None:
    client.do("XREADGROUP GROUP g c STREAMS s >")
    assert client.raw("XGROUP DELCONSUMER s g c") == b":2\r\n"
    assert client.raw("XGROUP DELCONSUMER s g c") == b":0\r\n"
    assert client.do("XPENDING s g")[0] == 0


@pytest.fixture
def busy(client: Talk, server: InProcessServer) -> Talk:
    """Consumer c has 1-1, delivered twice, then 2-1 and 3-1, delivered once, and d nothing."""
    client.all("XADD s 3-1 f v", "XGROUP CREATECONSUMER s g d")
    client.all("XREADGROUP GROUP g c COUNT 1 STREAMS s >", "XCLAIM s g c 0 1-1")
    server.advance(100)
    client.all("XREADGROUP GROUP g c STREAMS s >")
    server.advance(50)
    return client


def test_keeppending_releases_entries_with_their_delivery_counts(
    busy: Talk, events: list[tuple[str, str]]
) -> None:
    assert busy.raw("XGROUP DELCONSUMER s g c KEEPPENDING") == b":3\r\n"
    assert events == [("xgroup-delconsumer", "s")]
    released = [[b"1-1", b"", -1, 2], [b"2-1", b"", -1, 1], [b"3-1", b"", -1, 1]]
    assert busy.do("XPENDING s g - + 9") == released
    assert [c[1] for c in busy.do("XINFO CONSUMERS s g")] == [b"d"]
    claimed = busy.do("XREADGROUP GROUP g d CLAIM 99999 STREAMS s >")[0][1]
    assert [entry[0] for entry in claimed] == [b"1-1", b"2-1", b"3-1"]


def test_keeppending_wakes_a_reader_that_claims(busy: Talk, server: InProcessServer) -> None:
    reader = Talk(server)
    reader.raw("XREADGROUP GROUP g d BLOCK 0 CLAIM 99999 STREAMS s >")
    busy.do("XGROUP DELCONSUMER s g c KEEPPENDING")
    assert [entry[0] for entry in reader.received()[0][1]] == [b"1-1", b"2-1", b"3-1"]


def test_transfer_changes_the_owner_and_neither_times_nor_counts(
    busy: Talk, events: list[tuple[str, str]]
) -> None:
    assert busy.raw("XGROUP DELCONSUMER s g c TRANSFER d") == b":3\r\n"
    assert events == [("xgroup-delconsumer", "s")]
    theirs = [[b"1-1", b"d", 150, 2], [b"2-1", b"d", 50, 1], [b"3-1", b"d", 50, 1]]
    assert busy.do("XPENDING s g - + 9") == theirs
    assert busy.do("XINFO CONSUMERS s g")[0][3] == 3


def test_transfer_creates_the_other_consumer(
    busy: Talk, events: list[tuple[str, str]], propagated: list[str]
) -> None:
    assert busy.do("XGROUP DELCONSUMER s g d TRANSFER new") == 0
    assert events == [("xgroup-createconsumer", "s"), ("xgroup-delconsumer", "s")]
    assert propagated == [
        "MULTI", "XGROUP CREATECONSUMER s g new", "XGROUP DELCONSUMER s g d", "EXEC",
    ]  # fmt: skip
    assert busy.do("XGROUP DELCONSUMER s g nobody TRANSFER newer") == 0
    assert sorted(c[1] for c in busy.do("XINFO CONSUMERS s g")) == [b"c", b"new"]


@pytest.mark.parametrize("option", ["KEEPPENDING", "TRANSFER d"])
def test_entries_without_content_go_with_their_consumer(busy: Talk, option: str) -> None:
    busy.do("XDEL s 2-1")
    assert busy.do(f"XGROUP DELCONSUMER s g c {option}") == 3
    assert [row[0] for row in busy.do("XPENDING s g - + 9")] == [b"1-1", b"3-1"]


def test_a_transfer_is_propagated_as_claims_in_one_transaction(
    busy: Talk, propagated: list[str], server: InProcessServer
) -> None:
    first, later = server.now_ms - 150, server.now_ms - 50
    busy.do("XGROUP DELCONSUMER s g c TRANSFER d")
    assert propagated == [
        "MULTI",
        f"XCLAIM s g d 0 1-1 TIME {first} RETRYCOUNT 2 FORCE JUSTID LASTID 3-1",
        f"XCLAIM s g d 0 2-1 3-1 TIME {later} RETRYCOUNT 1 FORCE JUSTID LASTID 3-1",
        "XGROUP DELCONSUMER s g c",
        "EXEC",
    ]


def test_a_release_is_propagated_as_claims_of_the_empty_name_in_one_transaction(
    busy: Talk, propagated: list[str]
) -> None:
    busy.do("XGROUP DELCONSUMER s g c KEEPPENDING")
    plain = [request for request in propagated if not request.startswith("ECHO ")]
    assert plain == [
        "MULTI",
        "XCLAIM s g  0 1-1 TIME 0 RETRYCOUNT 2 FORCE JUSTID",
        "XCLAIM s g  0 2-1 3-1 TIME 0 RETRYCOUNT 1 FORCE JUSTID",
        "XGROUP DELCONSUMER s g c",
        "EXEC",
    ]
    assert len(propagated) == len(plain) + 3  # each release, and that it is not a consumer's


def test_a_consumer_without_a_name_can_release_its_entries(busy: Talk) -> None:
    busy.client.execute("XGROUP", "DELCONSUMER", "s", "g", "c", "TRANSFER", "")
    assert busy.client.execute("XGROUP", "DELCONSUMER", "s", "g", "", "KEEPPENDING") == b":3\r\n"
    assert busy.do("XPENDING s g - + 1") == [[b"1-1", b"", -1, 2]]


def test_more_entries_than_one_request_takes_are_released_and_transferred(
    client: Talk, server: InProcessServer
) -> None:
    for _ in range(1100):
        client.do("XADD s * f v")
    client.do("XREADGROUP GROUP g c STREAMS s >")
    assert client.do("XGROUP DELCONSUMER s g c TRANSFER d") == 1102
    assert client.do("XGROUP DELCONSUMER s g d KEEPPENDING") == 1102
    assert client.do("XPENDING s g")[0] == 1102


def test_what_the_options_of_a_deletion_refuse(busy: Talk) -> None:
    for words, error in (
        ("KEEPPENDING TRANSFER d", "KEEPPENDING and TRANSFER at the same time are not compatible"),
        ("TRANSFER d KEEPPENDING", "KEEPPENDING and TRANSFER at the same time are not compatible"),
        ("transfer c", "TRANSFER requires another consumer"),
        ("TRANSFER", "wrong number of arguments for 'xgroup|delconsumer' command"),
        ("TRANSFER d TRANSFER e", "wrong number of arguments for 'xgroup|delconsumer' command"),
        ("KEEPPENDING KEEPPENDING", "wrong number of arguments for 'xgroup|delconsumer' command"),
    ):
        assert busy.error(f"XGROUP DELCONSUMER missing g c {words}") == f"ERR {error}"
    assert busy.do("XPENDING s g")[0] == 3


# -- all of them -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words", ["SETID {} g 0", "DESTROY {} g", "CREATECONSUMER {} g c", "DELCONSUMER {} g c"]
)
def test_there_must_be_a_stream(client: Talk, words: str) -> None:
    client.do("SET string v")
    assert client.error(f"XGROUP {words.format('missing')}") == NO_KEY
    assert client.error(f"XGROUP {words.format('string')}").startswith("WRONGTYPE ")
    assert client.error("XGROUP CREATE string g 0 MKSTREAM").startswith("WRONGTYPE ")


@pytest.mark.parametrize(
    "words", ["SETID s nobody 0", "CREATECONSUMER s nobody c", "DELCONSUMER s nobody c"]
)
def test_there_must_be_a_group_except_to_destroy_it(client: Talk, words: str) -> None:
    assert client.error(f"XGROUP {words}") == (
        "NOGROUP No such consumer group 'nobody' for key name 's'"
    )
    assert client.do("XGROUP DESTROY s nobody") == 0


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("CREATE s g", "create"),
        ("SETID s g", "setid"),
        ("DESTROY s", "destroy"),
        ("DESTROY s g more", "destroy"),
        ("CREATECONSUMER s g", "createconsumer"),
        ("DELCONSUMER s g c more", "delconsumer"),
        ("HELP more", "help"),
    ],
)
def test_too_few_or_too_many_arguments_name_the_subcommand(
    client: Talk, words: str, name: str
) -> None:
    assert client.error(f"XGROUP {words}") == (
        f"ERR wrong number of arguments for 'xgroup|{name}' command"
    )


def test_an_unknown_subcommand_is_named(client: Talk) -> None:
    assert client.error("XGROUP Nope s g") == "ERR unknown subcommand 'Nope'. Try XGROUP HELP."


def test_help_is_a_list_of_simple_strings(client: Talk) -> None:
    raw = client.raw("XGROUP HELP")
    lines = raw.split(b"\r\n")[1:-1]
    assert raw.startswith(b"*%d\r\n" % len(lines))
    assert lines[0] == b"+XGROUP <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"
    assert lines[-2:] == [b"+HELP", b"+    Print this help."]
    for name in (b"CREATE", b"CREATECONSUMER", b"DELCONSUMER", b"DESTROY", b"SETID"):
        assert any(line.startswith(b"+" + name + b" <key>") for line in lines)


def test_changes_are_told_and_propagated_as_they_were_sent(
    client: Talk, events: list[tuple[str, str]], propagated: list[str]
) -> None:
    requests = [
        "XGROUP CREATE s h $",
        "XGROUP SETID s h 0 ENTRIESREAD 0",
        "XGROUP CREATECONSUMER s h c",
        "XGROUP DELCONSUMER s h c",
        "XGROUP DESTROY s h",
    ]
    client.all(*requests)
    assert events == [
        ("xgroup-create", "s"),
        ("xgroup-setid", "s"),
        ("xgroup-createconsumer", "s"),
        ("xgroup-delconsumer", "s"),
        ("xgroup-destroy", "s"),
    ]
    assert propagated == requests


def test_what_changes_nothing_is_not_told(
    client: Talk, events: list[tuple[str, str]], propagated: list[str]
) -> None:
    client.do("XGROUP CREATECONSUMER s g c")
    events.clear()
    propagated.clear()
    client.all("XGROUP CREATECONSUMER s g c", "XGROUP DELCONSUMER s g d", "XGROUP DESTROY s h")
    client.error("XGROUP CREATE s g 0")
    assert (events, propagated) == ([], [])


def test_a_new_stream_has_its_event_too(client: Talk, events: list[tuple[str, str]]) -> None:
    client.do("XGROUP CREATE new g $ MKSTREAM")
    assert events == [("new", "new"), ("xgroup-create", "new")]


def test_only_a_new_stream_fails_a_transaction_that_watches_the_key(
    client: Talk, server: InProcessServer
) -> None:
    other = Talk(server)
    client.do("WATCH s")
    other.all("XGROUP CREATE s h 0 MKSTREAM", "XGROUP SETID s h 1", "XGROUP DESTROY s h")
    client.do("MULTI")
    assert client.raw("EXEC") == b"*0\r\n"
    client.do("WATCH new")
    other.do("XGROUP CREATE new g $ MKSTREAM")
    client.do("MULTI")
    assert client.raw("EXEC") == b"*-1\r\n"


def test_a_group_cannot_have_read_more_than_was_ever_added(client: Talk) -> None:
    client.all("XADD clipped 1-1 f v", "XADD clipped 2-1 f v")
    client.do("XGROUP CREATE clipped g 0 ENTRIESREAD 9")
    assert client.do("XINFO GROUPS clipped")[0][9] == 2
    client.do("XGROUP SETID clipped g 0 ENTRIESREAD 1")
    assert client.do("XINFO GROUPS clipped")[0][9] == 1
    client.do("XGROUP SETID clipped g 0 ENTRIESREAD 3")
    assert client.do("XINFO GROUPS clipped")[0][9] == 2
    client.do("XGROUP CREATE new g 0 MKSTREAM ENTRIESREAD 5")
    assert client.do("XINFO GROUPS new")[0][9] == 0


def test_what_is_propagated_is_the_number_that_came_out(
    client: Talk, propagated: list[str]
) -> None:
    client.do("XGROUP SETID s g 0 ENTRIESREAD 9")
    client.do("XGROUP SETID s g 0 ENTRIESREAD 1")
    assert propagated == ["XGROUP SETID s g 0 ENTRIESREAD 2", "XGROUP SETID s g 0 ENTRIESREAD 1"]


def test_a_replayed_group_cannot_have_read_more_than_was_ever_added_either(client: Talk) -> None:
    """From a file or a primary that is a Redis before 8.2.1."""
    client.all("XADD one 1-1 f v", "XADD one 2-1 f v", "XDEL one 1-1")
    client.replay("XGROUP CREATE one h $ ENTRIESREAD 9", "XGROUP CREATE one g 0")
    client.replay("XGROUP SETID one g 2-1 ENTRIESREAD 9")
    for fields in client.do("XINFO GROUPS one"):
        assert fields[-4:] == [b"entries-read", 2, b"lag", 0]


def test_a_group_that_was_set_back_does_not_count_beyond_what_was_added(client: Talk) -> None:
    client.all(*(f"XADD ten {i}-1 f v" for i in range(1, 11)))
    client.do("XGROUP CREATE ten g 3-1 ENTRIESREAD 9")
    client.do("XREADGROUP GROUP g c STREAMS ten >")
    assert client.do("XINFO GROUPS ten")[0][-4:] == [b"entries-read", 10, b"lag", 0]
