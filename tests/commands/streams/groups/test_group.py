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
