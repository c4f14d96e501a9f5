"""CLIENT TRACKING, TRACKINGINFO, CACHING, GETREDIR: options and replies.

Invalidation is tested in tests/commands/connection/test_invalidation_table.py.
"""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessClient, InProcessServer


@pytest.fixture
def client() -> InProcessClient:
    return InProcessServer().connect()


def tracking(client: InProcessClient, *words: str | int) -> bytes:
    return client.execute("CLIENT", "TRACKING", *words)


def info(client: InProcessClient) -> tuple[list[str], int, list[str]]:
    """Flags, redirection and prefixes, from the RESP2 form."""
    words = client.execute("CLIENT", "TRACKINGINFO").decode().split("\r\n")
    assert words[0] == "*6"
    flags_at, redirect_at, prefixes_at = (
        words.index(name) for name in ("flags", "redirect", "prefixes")
    )
    flags = words[flags_at + 3 : redirect_at - 1 : 2]
    return flags, int(words[redirect_at + 1][1:]), words[prefixes_at + 3 :: 2]


def test_without_tracking_everything_is_off(client: InProcessClient) -> None:
    assert info(client) == (["off"], -1, [])
    assert client.execute("CLIENT", "GETREDIR") == b":-1\r\n"


def test_in_resp3_the_info_is_a_map_with_a_set(client: InProcessClient) -> None:
    client.execute("HELLO", 3)
    assert client.execute("CLIENT", "TRACKINGINFO") == (
        b"%3\r\n$5\r\nflags\r\n~1\r\n$3\r\noff\r\n$8\r\nredirect\r\n:-1\r\n$8\r\nprefixes\r\n*0\r\n"
    )


@pytest.mark.parametrize(
    ("words", "flags", "prefixes"),
    [
        ((), ["on"], []),
        (("OPTIN",), ["on", "optin"], []),
        (("OPTOUT", "NOLOOP"), ["on", "optout", "noloop"], []),
        (("BCAST", "noloop"), ["on", "bcast", "noloop"], [""]),
        (("bcast", "PREFIX", "b", "PREFIX", "a"), ["on", "bcast"], ["a", "b"]),
    ],
)
def test_trackinginfo_reports_the_options(
    client: InProcessClient, words: tuple[str, ...], flags: list[str], prefixes: list[str]
) -> None:
    assert tracking(client, "on", *words) == b"+OK\r\n"
    assert info(client) == (flags, 0, prefixes)
    assert client.execute("CLIENT", "GETREDIR") == b":0\r\n"
    assert tracking(client, "off") == b"+OK\r\n"
    assert info(client) == (["off"], -1, [])


def test_redirect_names_another_client_or_oneself(client: InProcessClient) -> None:
    other = client.server.connect()
    assert tracking(client, "ON", "REDIRECT", other.state.id) == b"+OK\r\n"
    assert client.execute("CLIENT", "GETREDIR") == b":%d\r\n" % other.state.id
    assert tracking(client, "ON", "REDIRECT", client.state.id) == b"+OK\r\n"
    assert info(client) == (["on"], client.state.id, [])
    assert tracking(client, "ON") == b"+OK\r\n"
    assert info(client) == (["on"], 0, [])


def test_further_prefixes_join_those_there_are(client: InProcessClient) -> None:
    tracking(client, "ON", "BCAST", "PREFIX", "b")
    tracking(client, "ON", "BCAST", "PREFIX", "a", "NOLOOP")
    assert info(client) == (["on", "bcast", "noloop"], 0, ["a", "b"])


def test_caching_shows_until_it_is_used(client: InProcessClient) -> None:
    tracking(client, "ON", "OPTIN")
    assert client.execute("CLIENT", "CACHING", "yes") == b"+OK\r\n"
    assert info(client)[0] == ["on", "optin", "caching-yes"]
    client.execute("PING")
    assert info(client)[0] == ["on", "optin"]
    tracking(client, "OFF")
    tracking(client, "ON", "OPTOUT")
    client.execute("CLIENT", "CACHING", "NO")
    assert info(client)[0] == ["on", "optout", "caching-no"]


CACHING_OFF = (
    b"-ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or"
    b" OPTOUT mode enabled\r\n"
)
CACHING_OF_OTHER_MODE = (
    b"-ERR CLIENT CACHING %b is only valid when tracking is enabled in %b mode.\r\n"
)


@pytest.mark.parametrize(
    ("mode", "word", "error"),
    [
        (None, "YES", CACHING_OFF),
        ("NOLOOP", "NO", CACHING_OF_OTHER_MODE % (b"NO", b"OPTOUT")),
        ("BCAST", "YES", CACHING_OF_OTHER_MODE % (b"YES", b"OPTIN")),
        ("OPTIN", "NO", CACHING_OF_OTHER_MODE % (b"NO", b"OPTOUT")),
        ("OPTOUT", "YES", CACHING_OF_OTHER_MODE % (b"YES", b"OPTIN")),
        ("OPTIN", "MAYBE", b"-ERR syntax error\r\n"),
    ],
)
def test_caching_wants_the_mode_that_it_is_for(
    client: InProcessClient, mode: str | None, word: str, error: bytes
) -> None:
    if mode is not None:
        tracking(client, "ON", mode)
    assert client.execute("CLIENT", "CACHING", word) == error


OVERLAP = (
    b"-ERR Prefix '%b' overlaps with %b prefix '%b'."
    b" Prefixes for a single client must not overlap.\r\n"
)
NOBODY = b"-ERR The client ID you want redirect to does not exist\r\n"
SWITCH = (
    b"-ERR You can't switch %b mode%b before disabling tracking for this client, and then"
    b" re-enabling it with a different mode.\r\n"
)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("MAYBE",), b"-ERR syntax error\r\n"),
        (("ON", "NOPE"), b"-ERR syntax error\r\n"),
        (("OFF", "NOPE"), b"-ERR syntax error\r\n"),
        (("ON", "REDIRECT"), b"-ERR syntax error\r\n"),
        (("ON", "PREFIX"), b"-ERR syntax error\r\n"),
        (("ON", "REDIRECT", "x"), b"-ERR value is not an integer or out of range\r\n"),
        (("ON", "REDIRECT", "99999"), NOBODY),
        (("ON", "REDIRECT", "0"), NOBODY),
        (("ON", "REDIRECT", "-1"), NOBODY),
        (
            ("ON", "REDIRECT", "1", "REDIRECT", "1"),
            b"-ERR A client can only redirect to a single other client\r\n",
        ),
        (
            ("ON", "PREFIX", "x"),
            b"-ERR PREFIX option requires BCAST mode to be enabled\r\n",
        ),
        (
            ("ON", "BCAST", "OPTIN"),
            b"-ERR OPTIN and OPTOUT are not compatible with BCAST\r\n",
        ),
        (
            ("ON", "OPTIN", "OPTOUT"),
            b"-ERR You can't specify both OPTIN mode and OPTOUT mode\r\n",
        ),
        (
            ("ON", "BCAST", "PREFIX", "zz", "PREFIX", "zzz"),
            OVERLAP % (b"zz", b"another provided", b"zzz"),
        ),
    ],
)
def test_options_that_do_not_fit_switch_nothing_on(
    client: InProcessClient, words: tuple[str, ...], error: bytes
) -> None:
    assert tracking(client, *words) == error
    assert info(client) == (["off"], -1, [])


@pytest.mark.parametrize(
    ("before", "after", "error"),
    [
        (("BCAST",), (), SWITCH % (b"BCAST", b" on/off")),
        ((), ("BCAST",), SWITCH % (b"BCAST", b" on/off")),
        (("OPTIN",), ("OPTOUT",), SWITCH % (b"OPTIN/OPTOUT", b"")),
        (("OPTOUT",), ("OPTIN",), SWITCH % (b"OPTIN/OPTOUT", b"")),
        (
            ("BCAST", "PREFIX", "a"),
            ("BCAST", "PREFIX", "ab"),
            OVERLAP % (b"ab", b"an existing", b"a"),
        ),
        (
            ("BCAST",),
            ("BCAST", "PREFIX", ""),
            OVERLAP % (b"", b"an existing", b""),
        ),
    ],
)
def test_a_mode_changes_only_by_way_of_off(
    client: InProcessClient, before: tuple[str, ...], after: tuple[str, ...], error: bytes
) -> None:
    tracking(client, "ON", *before)
    as_before = info(client)
    assert tracking(client, "ON", *after) == error
    assert info(client) == as_before
    tracking(client, "OFF")
    assert tracking(client, "ON", *after) == b"+OK\r\n"
