"""XCFGSET: limits of idempotent IDs, and the journal of acknowledgements."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessServer
from storage.append_only.requests import unwrap
from tests.commands.streams.talk import Talk, carrier

SYNTAX = "ERR syntax error"


@pytest.fixture
def client(server: InProcessServer) -> Talk:
    """A stream with one entry of a producer, and one without."""
    client = Talk(server)
    client.all("XADD s IDMP p 1 * f v", "XADD s * f v")
    return client


def remembered(client: Talk, key: str = "s") -> tuple[int, ...]:
    """Duration, maximal size; producers, IDs, IDs ever added, duplicates."""
    info = client.fields(f"XINFO STREAM {key}")
    assert client.fields(f"XINFO STREAM {key} FULL")["iids-tracked"] == info["iids-tracked"]
    names = ("idmp-duration", "idmp-maxsize", "pids-tracked", "iids-tracked", "iids-added")
    return tuple(info[name] for name in (*names, "iids-duplicates"))


# -- idempotent IDs ----------------------------------------------------------------------------


def test_another_limit_makes_a_stream_forget_all_but_its_counters(client: Talk) -> None:
    client.do("XADD s IDMP p 1 * f v")
    assert remembered(client) == (100, 100, 1, 1, 1, 1)
    assert client.raw("XCFGSET s IDMP-DURATION 100 idmp-maxsize 100") == b"+OK\r\n"
    assert remembered(client) == (100, 100, 1, 1, 1, 1)
    client.do("XCFGSET s IDMP-DURATION 86400")
    assert remembered(client) == (86400, 100, 0, 0, 1, 1)
    client.all("XADD s IDMP p 1 * f v", "XCFGSET s IDMP-MAXSIZE 10000")
    assert remembered(client) == (86400, 10000, 0, 0, 2, 1)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("", "ERR At least one parameter must be specified"),
        ("FOO 5", SYNTAX),
        ("IDMP-DURATION", SYNTAX),
        ("IDMP-DURATION 5 6", SYNTAX),
        ("IDMP-DURATION x", "ERR value is not an integer or out of range"),
        ("IDMP-DURATION 0", "ERR IDMP-DURATION must be between 1 and 86400 seconds"),
        ("IDMP-DURATION 86401", "ERR IDMP-DURATION must be between 1 and 86400 seconds"),
        ("IDMP-MAXSIZE x", "ERR value is not an integer or out of range"),
        ("IDMP-MAXSIZE 0", "ERR IDMP-MAXSIZE must be between 1 and 10000 entries"),
        ("IDMP-MAXSIZE 10001", "ERR IDMP-MAXSIZE must be between 1 and 10000 entries"),
        ("IDMP-DURATION 5 IDMP-DURATION 5", "ERR IDMP-DURATION specified multiple times"),
        ("IDMP-MAXSIZE 5 IDMP-MAXSIZE 5", "ERR IDMP-MAXSIZE specified multiple times"),
        ("IDMP-DURATION 5 IDMP-MAXSIZE 0", "ERR IDMP-MAXSIZE must be between 1 and 10000 entries"),
    ],
)
def test_limits_that_do_not_fit_are_refused(client: Talk, options: str, text: str) -> None:
    assert client.error(f"XCFGSET s {options}") == text
    assert remembered(client)[:4] == (100, 100, 1, 1)


def test_only_a_stream_has_limits(client: Talk) -> None:
    client.do("SET string v")
    assert client.error("XCFGSET missing IDMP-DURATION 5") == "ERR no such key"
    assert client.error("XCFGSET string IDMP-DURATION 5").startswith("WRONGTYPE ")


def test_a_change_of_limits_is_propagated_without_an_event(
    client: Talk, events: list[tuple[str, str]], propagated: list[str]
) -> None:
    client.all("XCFGSET s IDMP-DURATION 100", "XCFGSET s IDMP-DURATION 5 IDMP-MAXSIZE 100")
    assert (events, propagated) == ([], [carrier("XCFGSET s IDMP-DURATION 5 IDMP-MAXSIZE 100")])


# -- the journal -------------------------------------------------------------------------------


def journal(client: Talk, key: str = "s") -> tuple[bytes, int, int] | None:
    """Key, maximal length, skipped; None where XINFO says nothing of a journal."""
    policy = client.fields(f"XINFO POLICY {key}")
    if not policy:
        return None
    return policy["ack-journal"], policy["ack-journal-maxlen"], policy["ack-journal-skipped"]


def test_a_stream_has_no_journal_until_one_is_named(client: Talk) -> None:
    assert journal(client) is None
    assert client.raw("XCFGSET s ACK-JOURNAL j") == b"+OK\r\n"
    assert journal(client) == (b"j", 1_000_000, 0)
    assert client.do("EXISTS j") == 0
    assert client.client.execute("XCFGSET", "s", "ack-journal", "") == b"+OK\r\n"
    assert journal(client) is None


def test_the_fields_of_redis_stay_what_they_are(client: Talk) -> None:
    before = [client.do("XINFO STREAM s"), client.do("XINFO STREAM s FULL")]
    client.do("XCFGSET s ACK-JOURNAL j")
    assert [client.do("XINFO STREAM s"), client.do("XINFO STREAM s FULL")] == before


def test_a_policy_is_a_map_of_a_stream(server: InProcessServer, client: Talk) -> None:
    assert client.raw("XINFO POLICY s") == b"*0\r\n"
    assert Talk(server, resp=3).raw("XINFO POLICY s") == b"%0\r\n"
    assert client.error("XINFO POLICY missing") == "ERR no such key"
    client.do("SET text v")
    assert client.error("XINFO POLICY text").startswith("WRONGTYPE ")
    assert client.error("XINFO POLICY") == (
        "ERR wrong number of arguments for 'xinfo|policy' command"
    )


def test_a_limit_stays_when_another_journal_is_named(client: Talk) -> None:
    client.do("XCFGSET s ACK-JOURNAL j ACK-JOURNAL-MAXLEN 7")
    client.do("XCFGSET s ACK-JOURNAL k")
    assert journal(client) == (b"k", 7, 0)
    client.do("XCFGSET s ack-journal-maxlen 9223372036854775807")
    assert journal(client) == (b"k", 2**63 - 1, 0)


def test_a_journal_leaves_idempotent_ids_alone(client: Talk, server: InProcessServer) -> None:
    client.do("XCFGSET s ACK-JOURNAL j")
    assert remembered(client) == (100, 100, 1, 1, 1, 0)
    client.all("XADD plain * f v", "XCFGSET plain ACK-JOURNAL j")
    assert server.instance.databases[0].values[b"plain"].idempotence is None  # type: ignore[attr-defined]
    client.do("XCFGSET s IDMP-MAXSIZE 3 ACK-JOURNAL k")
    assert (remembered(client)[1], journal(client)) == (3, (b"k", 1_000_000, 0))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("ACK-JOURNAL", SYNTAX),
        ("ACK-JOURNAL j MAXLEN 5", SYNTAX),
        ("ACK-JOURNAL j ACK-JOURNAL k", "ERR ACK-JOURNAL specified multiple times"),
        ("ACK-JOURNAL s", "ERR ACK-JOURNAL must name another key"),
        ("ACK-JOURNAL data", "ERR ACK-JOURNAL names a stream that holds other entries"),
        ("ACK-JOURNAL string", "WRONGTYPE Operation against a key holding the wrong kind of value"),
        ("ACK-JOURNAL-MAXLEN 5", "ERR ACK-JOURNAL-MAXLEN needs ACK-JOURNAL"),
        ("ACK-JOURNAL j ACK-JOURNAL-MAXLEN x", "ERR value is not an integer or out of range"),
        (
            "ACK-JOURNAL j ACK-JOURNAL-MAXLEN 0",
            "ERR ACK-JOURNAL-MAXLEN must be at least 1 entry",
        ),
        (
            "ACK-JOURNAL j ACK-JOURNAL-MAXLEN 5 ACK-JOURNAL-MAXLEN 5",
            "ERR ACK-JOURNAL-MAXLEN specified multiple times",
        ),
        (
            "ACK-JOURNAL j IDMP-MAXSIZE 0",
            "ERR IDMP-MAXSIZE must be between 1 and 10000 entries",
        ),
    ],
)
def test_a_journal_that_cannot_be_is_refused(client: Talk, options: str, text: str) -> None:
    client.all("SET string v", "XADD data * f v")
    assert client.error(f"XCFGSET s {options}") == text
    assert journal(client) is None
    assert remembered(client)[1] == 100


def test_no_journal_has_no_limit(client: Talk) -> None:
    reply = client.client.execute("XCFGSET", "s", "ACK-JOURNAL", "", "ACK-JOURNAL-MAXLEN", "5")
    assert reply == b"-ERR ACK-JOURNAL-MAXLEN needs ACK-JOURNAL\r\n"


def test_an_empty_stream_or_a_journal_of_others_may_become_one(client: Talk) -> None:
    client.all("XGROUP CREATE empty g 0 MKSTREAM", "XCFGSET s ACK-JOURNAL empty")
    client.all("XGROUP CREATE s g 0", "XREADGROUP GROUP g c STREAMS s >")
    client.do(f"XACK s g {client.ids('s')[0]}")
    client.all("XADD other * f v", "XCFGSET other ACK-JOURNAL empty")
    assert journal(client, "other") == (b"empty", 1_000_000, 0)


def test_what_was_accepted_once_is_accepted_again(client: Talk) -> None:
    client.do("XADD data * f v")
    client.client.state.replays = True
    client.do("XCFGSET s ACK-JOURNAL data")
    assert journal(client) == (b"data", 1_000_000, 0)


def test_a_journal_is_propagated_where_it_changes_something_in_a_carrier(
    client: Talk, events: list[tuple[str, str]], server: InProcessServer
) -> None:
    server.propagated.clear()
    client.all("XCFGSET s ACK-JOURNAL j", "XCFGSET s ACK-JOURNAL j ACK-JOURNAL-MAXLEN 1000000")
    client.do("XCFGSET s ACK-JOURNAL-MAXLEN 5")
    client.client.execute("XCFGSET", "s", "ACK-JOURNAL", "")
    requests = [request for _, unit in server.propagated for request in unit]
    assert [request[0] for request in requests] == [b"ECHO"] * 3
    assert [unwrap(request) for request in requests] == [
        [b"XCFGSET", b"s", b"ACK-JOURNAL", b"j", b"ACK-JOURNAL-MAXLEN", b"1000000"],
        [b"XCFGSET", b"s", b"ACK-JOURNAL", b"j", b"ACK-JOURNAL-MAXLEN", b"5"],
        [b"XCFGSET", b"s", b"ACK-JOURNAL", b""],
    ]
    assert events == []


def test_what_redis_knows_of_a_request_is_propagated_by_itself(
    client: Talk, server: InProcessServer
) -> None:
    server.propagated.clear()
    client.do("XCFGSET s ACK-JOURNAL j IDMP-MAXSIZE 3 IDMP-DURATION 7")
    ((_, [multi, plain, carrier, end]),) = server.propagated
    assert (multi, end) == ([b"MULTI"], [b"EXEC"])
    assert unwrap(plain) == [b"XCFGSET", b"s", b"IDMP-DURATION", b"7", b"IDMP-MAXSIZE", b"3"]
    assert carrier[0] == b"ECHO"
    client.do("XCFGSET s ACK-JOURNAL k IDMP-MAXSIZE 3")  # which it is
    assert [request[0] for request in server.propagated[1][1]] == [b"ECHO"]
