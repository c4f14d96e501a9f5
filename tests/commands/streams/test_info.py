"""XINFO."""

from __future__ import annotations

from typing import Any

import pytest

from server.inprocess.server import InProcessServer
from tests.commands.streams.talk import NOW_MS, Talk, decode, entry


@pytest.fixture
def client(server: InProcessServer) -> Talk:
    """Three entries, two groups; in the second, consumer b has two entries and a none."""
    client = Talk(server)
    client.all("XADD s 1-1 f a", "XADD s 2-1 f b", "XADD s 3-1 f c")
    client.all("XGROUP CREATE s two 0", "XGROUP CREATE s one $")
    client.all("XREADGROUP GROUP two b COUNT 2 STREAMS s >", "XGROUP CREATECONSUMER s two a")
    server.now_ms += 100
    return client


def names(flat: list[Any]) -> list[str]:
    return [name.decode() for name in flat[::2]]


def syntax(word: str) -> str:
    return f"ERR unknown subcommand or wrong number of arguments for '{word}'. Try XINFO HELP."


# -- STREAM ------------------------------------------------------------------------------------

HEAD = [
    "length", "radix-tree-keys", "radix-tree-nodes", "last-generated-id", "max-deleted-entry-id",
    "entries-added", "recorded-first-entry-id", "idmp-duration", "idmp-maxsize", "pids-tracked",
    "iids-tracked", "iids-added", "iids-duplicates",
]  # fmt: skip


def test_a_stream_is_described_in_the_order_of_redis(client: Talk) -> None:
    flat = client.do("XINFO STREAM s")
    assert names(flat) == [*HEAD, "groups", "first-entry", "last-entry"]
    assert flat[1::2] == [
        3, 1, 2, b"3-1", b"0-0", 3, b"1-1", 100, 100, 0, 0, 0, 0, 2,
        entry("1-1", "f", "a"), entry("3-1", "f", "c"),
    ]  # fmt: skip


def test_the_description_is_a_map_in_resp3(client: Talk, resp3: Talk) -> None:
    old, new = client.raw("XINFO STREAM s"), resp3.raw("XINFO STREAM s")
    assert old.startswith(b"*32\r\n$6\r\nlength\r\n:3\r\n")
    assert new == b"%16" + old.removeprefix(b"*32")


def test_an_empty_stream_has_no_first_and_last_entry(client: Talk, resp3: Talk) -> None:
    client.do("XDEL s 1-1 2-1 3-1")
    info = client.fields("XINFO STREAM s")
    assert (info["first-entry"], info["last-entry"]) == (None, None)
    assert (info["length"], info["recorded-first-entry-id"]) == (0, b"0-0")
    assert info["max-deleted-entry-id"] == b"3-1"
    assert client.raw("XINFO STREAM s").endswith(b"last-entry\r\n$-1\r\n")
    assert resp3.raw("XINFO STREAM s").endswith(b"last-entry\r\n_\r\n")


def test_nodes_are_counted(server: InProcessServer) -> None:
    server.instance.config.stream_node_max_entries = 2
    client = Talk(server)
    client.all(*(f"XADD s {i}-1 f v" for i in range(1, 6)))
    assert client.fields("XINFO STREAM s")["radix-tree-keys"] == 3


def test_the_full_form_shows_entries_groups_and_consumers(client: Talk) -> None:
    flat = client.do("XINFO STREAM s FULL")
    assert names(flat) == [*HEAD, "entries", "groups"]
    info = client.fields("XINFO STREAM s FULL")
    assert info["entries"] == [
        entry("1-1", "f", "a"), entry("2-1", "f", "b"), entry("3-1", "f", "c"),
    ]  # fmt: skip
    one, two = info["groups"]
    assert names(two) == [
        "name", "last-delivered-id", "entries-read", "lag", "pel-count", "nacked-count", "pending",
        "consumers",
    ]  # fmt: skip
    assert one[1::2] == [b"one", b"3-1", None, 0, 0, 0, [], []]
    assert two[1:-1:2] == [
        b"two", b"2-1", 2, 1, 2, 0, [[b"1-1", b"b", NOW_MS, 1], [b"2-1", b"b", NOW_MS, 1]],
    ]  # fmt: skip
    a, b = two[-1]
    assert names(a) == ["name", "seen-time", "active-time", "pel-count", "pending"]
    assert a[1::2] == [b"a", NOW_MS, -1, 0, []]
    assert b[1::2] == [b"b", NOW_MS, NOW_MS, 2, [[b"1-1", NOW_MS, 1], [b"2-1", NOW_MS, 1]]]


def test_the_full_form_has_nested_maps_in_resp3(client: Talk, resp3: Talk) -> None:
    raw = resp3.raw("XINFO STREAM s FULL")
    assert raw.startswith(b"%15\r\n")
    group = decode(raw)[b"groups"][1]
    assert (group[b"name"], group[b"lag"]) == (b"two", 1)
    assert group[b"consumers"][0][b"name"] == b"a"
    assert b"entries-read\r\n_\r\n" in raw
    assert raw.count(b"%8\r\n") == 2
    assert raw.count(b"%5\r\n") == 2
    assert b"*4\r\n$3\r\n1-1\r\n$1\r\nb\r\n:1700000000000\r\n:1\r\n" in raw


def test_entries_without_an_owner_are_counted_and_listed(client: Talk) -> None:
    client.do("XNACK s two FAIL IDS 1 1-1")
    two = client.fields("XINFO STREAM s FULL")["groups"][1]
    assert two[8:14] == [
        b"pel-count", 2, b"nacked-count", 1,
        b"pending", [[b"1-1", b"", 0, 1], [b"2-1", b"b", NOW_MS, 1]],
    ]  # fmt: skip
    assert [consumer[7] for consumer in two[-1]] == [0, 1]


@pytest.mark.parametrize(
    ("count", "entries", "pending"),
    [
        ("", 10, 10),
        (" COUNT 1", 1, 1),
        (" count 11", 11, 11),
        (" COUNT 0", 30, 20),
        (" COUNT -1", 10, 10),
    ],
)
def test_the_full_form_is_limited_entries_and_each_pending_list_apart(
    server: InProcessServer, count: str, entries: int, pending: int
) -> None:
    client = Talk(server)
    client.all(*(f"XADD s {i}-1 f v" for i in range(1, 31)), "XGROUP CREATE s g 0")
    client.do("XREADGROUP GROUP g c COUNT 20 STREAMS s >")
    info = client.fields(f"XINFO STREAM s FULL{count}")
    group = info["groups"][0]
    assert len(info["entries"]) == entries
    assert (group[9], len(group[13])) == (20, pending)
    consumer = group[15][0]
    assert (consumer[7], len(consumer[9])) == (20, pending)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("FOO", syntax("STREAM")),
        ("FULL COUNT", syntax("STREAM")),
        ("FULL FOO 1", syntax("STREAM")),
        ("FOO COUNT 1", syntax("STREAM")),
        ("FULL COUNT 1 2", syntax("STREAM")),
        ("FULL COUNT x", "ERR value is not an integer or out of range"),
    ],
)
def test_bad_options_are_refused_once_there_is_a_stream(
    client: Talk, options: str, text: str
) -> None:
    assert client.error(f"XINFO STREAM s {options}") == text
    assert client.error(f"XINFO STREAM missing {options}") == "ERR no such key"


def test_the_error_names_the_subcommand_as_it_was_sent(client: Talk) -> None:
    assert client.error("xinfo stReam s FOO") == syntax("stReam")


# -- GROUPS ------------------------------------------------------------------------------------


def test_groups_are_listed_by_name(client: Talk, resp3: Talk) -> None:
    one, two = client.do("XINFO GROUPS s")
    assert names(one) == [
        "name", "consumers", "pending", "last-delivered-id", "entries-read", "lag",
    ]  # fmt: skip
    assert one[1::2] == [b"one", 0, 0, b"3-1", None, 0]
    assert two[1::2] == [b"two", 2, 2, b"2-1", 2, 1]
    assert resp3.raw("XINFO GROUPS s") == (
        client.raw("XINFO GROUPS s").replace(b"*12\r\n", b"%6\r\n").replace(b"$-1\r\n", b"_\r\n")
    )


def test_a_lag_that_is_not_known_is_null(client: Talk, resp3: Talk) -> None:
    client.do("XDEL s 2-1")
    client.do("XGROUP SETID s two 1-1")
    assert client.do("XINFO GROUPS s")[1][-4:] == [b"entries-read", None, b"lag", None]
    assert resp3.raw("XINFO GROUPS s").endswith(b"$3\r\nlag\r\n_\r\n")


def test_a_stream_without_groups_has_an_empty_list(client: Talk) -> None:
    client.do("XADD t 1-1 f v")
    assert client.raw("XINFO GROUPS t") == b"*0\r\n"


# -- CONSUMERS ---------------------------------------------------------------------------------


def test_consumers_are_listed_by_name(client: Talk, resp3: Talk) -> None:
    a, b = client.do("XINFO CONSUMERS s two")
    assert names(a) == ["name", "pending", "idle", "inactive"]
    assert a[1::2] == [b"a", 0, 100, -1]
    assert b[1::2] == [b"b", 2, 100, 100]
    assert resp3.raw("XINFO CONSUMERS s two") == (
        client.raw("XINFO CONSUMERS s two").replace(b"*8\r\n", b"%4\r\n")
    )


def test_times_in_the_future_are_no_idle_times(client: Talk, server: InProcessServer) -> None:
    server.now_ms -= 500
    assert client.do("XINFO CONSUMERS s two")[1][5::2] == [0, 0]


def test_a_group_without_consumers_has_an_empty_list(client: Talk) -> None:
    assert client.raw("XINFO CONSUMERS s one") == b"*0\r\n"


def test_there_must_be_a_group(client: Talk) -> None:
    assert client.error("XINFO CONSUMERS s nobody") == (
        "NOGROUP No such consumer group 'nobody' for key name 's'"
    )


# -- all of them -------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["STREAM {}", "STREAM {} FULL", "GROUPS {}", "CONSUMERS {} one"])
def test_there_must_be_a_stream(client: Talk, words: str) -> None:
    client.do("SET string v")
    assert client.error(f"XINFO {words.format('missing')}") == "ERR no such key"
    assert client.error(f"XINFO {words.format('string')}").startswith("WRONGTYPE ")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("STREAM", "stream"),
        ("GROUPS", "groups"),
        ("GROUPS s x", "groups"),
        ("CONSUMERS s", "consumers"),
    ],
)
def test_too_few_or_too_many_arguments_name_the_subcommand(
    client: Talk, words: str, name: str
) -> None:
    assert client.error(f"XINFO {words}") == (
        f"ERR wrong number of arguments for 'xinfo|{name}' command"
    )


def test_an_unknown_subcommand_is_named(client: Talk) -> None:
    assert client.error("XINFO Nope s") == "ERR unknown subcommand 'Nope'. Try XINFO HELP."


def test_help_is_that_of_the_tutorials(client: Talk) -> None:
    assert client.raw("XINFO HELP").split(b"\r\n") == [
        b"*9",
        b"+XINFO <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        b"+CONSUMERS <key> <groupname>",
        b"+    Show consumers of <groupname>.",
        b"+GROUPS <key>",
        b"+    Show the stream consumer groups.",
        b"+STREAM <key> [FULL [COUNT <count>]",
        b"+    Show information about the stream.",
        b"+HELP",
        b"+    Print this help.",
        b"",
    ]
