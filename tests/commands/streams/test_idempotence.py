"""What streams remember of their producers: XCFGSET, XIDMPRECORD, expiry and defaults."""

from __future__ import annotations

import pytest

from server.inprocess import InProcessServer
from tests.commands.streams.talk import Talk

SYNTAX = "ERR syntax error"


@pytest.fixture
def client(server: InProcessServer) -> Talk:
    """A stream with one entry of a producer, and one of nobody."""
    client = Talk(server)
    client.all("XADD s IDMP p 1 * f v", "XADD s * f v")
    return client


def remembered(client: Talk, key: str = "s") -> tuple[int, ...]:
    """Duration, maximal size; producers, IDs, IDs ever added, duplicates."""
    info = client.fields(f"XINFO STREAM {key}")
    assert client.fields(f"XINFO STREAM {key} FULL")["iids-tracked"] == info["iids-tracked"]
    names = ("idmp-duration", "idmp-maxsize", "pids-tracked", "iids-tracked", "iids-added")
    return tuple(info[name] for name in (*names, "iids-duplicates"))


# -- XCFGSET -----------------------------------------------------------------------------------


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
    assert (events, propagated) == ([], ["XCFGSET s IDMP-DURATION 5 IDMP-MAXSIZE 100"])


# -- XIDMPRECORD -------------------------------------------------------------------------------


def test_the_entry_of_an_id_can_be_noted_afterwards(client: Talk, propagated: list[str]) -> None:
    first, second = client.ids("s")
    assert client.raw(f"XIDMPRECORD s q 7 {second}") == b"+OK\r\n"
    assert client.raw(f"XIDMPRECORD s q 7 {second}") == b"+OK\r\n"
    assert client.raw(f"XIDMPRECORD s p 1 {first}") == b"+OK\r\n"
    assert propagated == [f"XIDMPRECORD s q 7 {second}"]
    assert client.do("XADD s IDMP q 7 * f v") == second.encode()
    assert remembered(client)[2:] == (2, 2, 2, 1)


def test_a_note_that_cannot_be_true_is_refused(client: Talk) -> None:
    _, second = client.ids("s")
    execute = client.client.execute
    assert execute("XIDMPRECORD", "s", "", "1", "bad") == b"-ERR producer ID must be non-empty\r\n"
    no_iid = execute("XIDMPRECORD", "s", "p", "", "bad")
    assert no_iid == b"-ERR idempotent ID must be non-empty\r\n"
    assert client.error("XIDMPRECORD s p 1 bad").startswith("ERR Invalid stream ID ")
    assert client.error("XIDMPRECORD missing p 1 1-1") == "ERR no such key"
    assert client.error("XIDMPRECORD s p 1 1-1") == "ERR No such message in stream"
    assert client.error(f"XIDMPRECORD s p 1 {second}") == (
        "ERR IID already exists for this producer with a different stream ID"
    )
    client.do("SET string v")
    assert client.error("XIDMPRECORD string p 1 1-1").startswith("WRONGTYPE ")


# -- forgetting --------------------------------------------------------------------------------


def test_the_oldest_id_goes_when_there_are_too_many_of_a_producer(client: Talk) -> None:
    client.do("XCFGSET s IDMP-MAXSIZE 2")
    client.all(*(f"XADD s IDMP p {i} * f v" for i in (1, 2, 3)), "XADD s IDMP q 1 * f v")
    assert remembered(client)[2:5] == (2, 3, 5)
    length = client.do("XLEN s")
    client.all("XADD s IDMP p 2 * f v", "XADD s IDMP p 3 * f v", "XADD s IDMP p 1 * f v")
    assert client.do("XLEN s") == length + 1


def test_what_is_too_old_is_forgotten_in_the_background(
    client: Talk, server: InProcessServer
) -> None:
    server.advance(50_000)
    client.do("XADD s IDMP q 1 * f v")
    server.advance(50_000)
    assert remembered(client)[2:4] == (2, 2)
    server.advance(1)
    assert remembered(client)[2:4] == (1, 1)
    client.do("RENAME s t")
    server.advance(50_000)
    assert remembered(client, "t")[2:4] == (0, 0)
    assert len(server.instance.idempotence) == 0


def test_a_copy_remembers_and_forgets_on_its_own(client: Talk, server: InProcessServer) -> None:
    client.all("COPY s t", "DEL s")
    assert client.do("XADD t IDMP p 1 * f v").decode() == client.ids("t")[0]
    assert remembered(client, "t") == (100, 100, 1, 1, 1, 1)
    server.advance(100_001)
    assert remembered(client, "t")[2:4] == (0, 0)


def test_a_stream_takes_the_defaults_of_the_time_when_it_was_created(client: Talk) -> None:
    client.do("CONFIG SET stream-idmp-duration 7 stream-idmp-maxsize 8")
    client.all("XADD t * f v", "XGROUP CREATE u g 0 MKSTREAM")
    client.do("CONFIG SET stream-idmp-duration 9 stream-idmp-maxsize 9")
    assert remembered(client)[:2] == (100, 100)
    assert remembered(client, "t")[:2] == remembered(client, "u")[:2] == (7, 8)


@pytest.mark.parametrize("value", ["0", "86401"])
def test_a_default_out_of_bounds_is_refused(client: Talk, value: str) -> None:
    assert "between 1 and 86400" in client.error(f"CONFIG SET stream-idmp-duration {value}")
