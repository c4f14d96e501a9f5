"""XACK, XACKDEL and XNACK."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessServer
from storage.append_only.requests import wrap
from tests.commands.streams.talk import Talk, carrier

INVALID_ID = "ERR Invalid stream ID specified as stream command argument"


@pytest.fixture
def client(server: InProcessServer) -> Talk:
    """With three entries pending for one consumer."""
    client = Talk(server)
    client.all("XADD s 1-1 f v", "XADD s 2-1 f v", "XADD s 3-1 f v", "XGROUP CREATE s g 0")
    client.do("XREADGROUP GROUP g c STREAMS s >")
    return client


def test_the_number_of_entries_that_were_pending_is_answered(client: Talk) -> None:
    assert client.raw("XACK s g 1-1 1-1 9-9 3-1") == b":2\r\n"
    assert client.do("XPENDING s g") == [1, b"2-1", b"2-1", [[b"c", b"1"]]]
    assert client.do("XACK s g 1-1") == 0


def test_one_invalid_id_and_nothing_is_acknowledged(client: Talk) -> None:
    assert client.error("XACK s g 1-1 bad") == INVALID_ID
    assert client.error("XACK s g +") == INVALID_ID
    assert client.do("XPENDING s g")[0] == 3


@pytest.mark.parametrize("form", ["XACK t g -1", "XACKDEL t g IDS 1 -1", "XNACK t g FAIL IDS 1 -1"])
def test_an_id_without_its_time_is_none(client: Talk, propagated: list[str], form: str) -> None:
    client.all("XADD t 0-1 f v", "XGROUP CREATE t g 0", "XREADGROUP GROUP g c STREAMS t >")
    propagated.clear()
    assert client.error(form) == INVALID_ID
    assert client.do("XPENDING t g")[0] == 1
    assert propagated == []


def test_without_a_key_or_a_group_the_ids_are_not_looked_at(client: Talk) -> None:
    assert client.raw("XACK missing g bad") == b":0\r\n"
    assert client.raw("XACK s missing bad") == b":0\r\n"


def test_a_key_of_another_type_is_refused(client: Talk) -> None:
    client.do("SET string v")
    assert client.error("XACK string g bad").startswith("WRONGTYPE ")


def test_an_entry_that_was_deleted_can_be_acknowledged(client: Talk) -> None:
    client.do("XDEL s 2-1")
    assert client.do("XACK s g 2-1") == 1


def test_only_an_acknowledgement_that_changes_something_is_propagated_and_there_is_no_event(
    client: Talk, events: list[tuple[str, str]], propagated: list[str]
) -> None:
    client.do("XACK s g 9-9")
    client.do("XACK s g 1-1 9-9")
    assert propagated == ["XACK s g 1-1 9-9"]
    assert events == []


def test_a_transaction_that_watches_the_key_does_not_fail(
    client: Talk, server: InProcessServer
) -> None:
    client.do("WATCH s")
    assert Talk(server).do("XACK s g 1-1") == 1
    client.do("MULTI")
    assert client.raw("EXEC") == b"*0\r\n"


# -- XACKDEL -----------------------------------------------------------------------------------


@pytest.fixture
def two(client: Talk) -> Talk:
    """With a second group, which was given 1-1 and 2-1 and has acknowledged 1-1."""
    client.all("XGROUP CREATE s two 0", "XREADGROUP GROUP two d COUNT 2 STREAMS s >")
    client.do("XACK s two 1-1")
    return client


def test_what_is_pending_is_acknowledged_and_deleted(two: Talk) -> None:
    assert two.raw("XACKDEL s g IDS 3 1-1 1-1 9-9") == b"*3\r\n:1\r\n:-1\r\n:-1\r\n"
    assert two.ids("s") == ["2-1", "3-1"]
    assert two.do("XPENDING s g")[0] == 2


def test_an_entry_that_is_not_pending_is_not_deleted(two: Talk) -> None:
    assert two.do("XACKDEL s two KEEPREF IDS 2 1-1 3-1") == [-1, -1]
    assert len(two.ids("s")) == 3


def test_an_entry_whose_content_is_gone_is_acknowledged(
    two: Talk, events: list[tuple[str, str]], propagated: list[str]
) -> None:
    two.do("XDEL s 1-1")
    del events[:], propagated[:]
    assert two.do("XACKDEL s g IDS 1 1-1") == [1]
    assert (events, propagated) == ([], ["XACK s g 1-1"])


def test_acked_keeps_what_another_group_refers_to(two: Talk) -> None:
    assert two.do("XACKDEL s g ACKED IDS 3 1-1 2-1 3-1") == [1, 2, 2]
    assert two.ids("s") == ["2-1", "3-1"]
    assert two.do("XPENDING s g")[0] == 0
    assert two.do("XACKDEL s two IDS 1 2-1 ACKED") == [1]
    assert two.ids("s") == ["3-1"]


def test_keepref_leaves_an_entry_pending_elsewhere_and_delref_does_not(two: Talk) -> None:
    assert two.do("XACKDEL s g KEEPREF IDS 1 2-1") == [1]
    assert two.do("XPENDING s two")[0] == 1
    assert two.do("XACKDEL s two DELREF IDS 1 2-1") == [1]
    two.all("XGROUP SETID s two 0", "XREADGROUP GROUP two d STREAMS s >")
    assert two.do("XACKDEL s two DELREF IDS 2 1-1 3-1") == [1, 1]
    assert two.do("XPENDING s g")[0] == 0


def test_many_ids_at_once(client: Talk) -> None:
    client.all("XGROUP CREATE t g 0 MKSTREAM", *(f"XADD t {i}-0 f v" for i in range(1, 101)))
    client.do("XREADGROUP GROUP g c STREAMS t >")
    ids = " ".join(f"{i}-0" for i in range(1, 101))
    assert client.do(f"XACKDEL t g IDS 100 {ids}") == [1] * 100
    assert client.do("XLEN t") == 0


def test_without_a_key_or_a_group_nothing_is_pending(client: Talk) -> None:
    assert client.do("XACKDEL missing g IDS 1 1-1") == [-1]
    assert client.do("XACKDEL s missing ACKED IDS 2 1-1 2-1") == [-1, -1]
    assert client.error("XACKDEL s missing IDS 1 bad") == INVALID_ID
    client.do("SET string v")
    assert client.error("XACKDEL string g IDS 1 1-1").startswith("WRONGTYPE ")


def test_xackdel_tells_of_a_deletion_and_is_propagated_if_it_changed_something(
    two: Talk, events: list[tuple[str, str]], propagated: list[str]
) -> None:
    two.do("XACKDEL s g IDS 1 9-9")
    assert (events, propagated) == ([], [])
    two.do("XACKDEL s g ACKED IDS 2 1-1 2-1")
    assert events == [("xdel", "s")]
    assert propagated[:2] == ["MULTI", "XACK s g 1-1 2-1"] and propagated[2].startswith("XDEL s ")


# -- XNACK -------------------------------------------------------------------------------------

MAX = 9223372036854775807


def pending(client: Talk) -> list[tuple[str, str, int, int]]:
    """What XPENDING lists: ID, consumer, idle time, deliveries."""
    return [(i.decode(), c.decode(), ms, n) for i, c, ms, n in client.do("XPENDING s g - + 99")]


def deliveries(client: Talk) -> list[int]:
    return [row[3] for row in pending(client)]


@pytest.mark.parametrize(
    ("mode", "count"), [("SILENT", 1), ("silent", 1), ("FAIL", 2), ("FATAL", MAX)]
)
def test_the_mode_says_what_becomes_of_the_delivery_count(
    client: Talk, mode: str, count: int
) -> None:
    client.do("XCLAIM s g c 0 1-1")
    assert client.raw(f"XNACK s g {mode} IDS 2 1-1 9-9") == b":1\r\n"
    assert pending(client)[0] == ("1-1", "", -1, count)


def test_the_count_of_a_silent_release_does_not_fall_below_zero(client: Talk) -> None:
    client.all("XNACK s g SILENT IDS 1 1-1", "XNACK s g SILENT IDS 1 1-1")
    assert deliveries(client) == [0, 1, 1]


def test_retrycount_overrides_the_mode(client: Talk) -> None:
    client.do("XNACK s g FATAL IDS 2 1-1 2-1 RETRYCOUNT 7")
    assert deliveries(client) == [7, 7, 1]
    client.do("XNACK s g SILENT IDS 1 1-1 RETRYCOUNT 9 RETRYCOUNT 0")
    assert deliveries(client) == [0, 7, 1]


@pytest.mark.parametrize(
    ("options", "count"), [("FAIL", 0), ("SILENT", 0), ("FATAL", MAX), ("FAIL {} RETRYCOUNT 5", 5)]
)
def test_force_makes_an_entry_pending_that_is_in_the_stream(
    client: Talk, options: str, count: int
) -> None:
    client.do("XADD s 4-1 f v")
    mode, _, rest = options.partition(" {}")
    assert client.do(f"XNACK s g {mode} IDS 2 4-1 9-9") == 0
    assert client.do(f"XNACK s g {mode} IDS 2 4-1 9-9 FORCE{rest}") == 1
    assert pending(client)[-1] == ("4-1", "", -1, count)


def test_what_is_released_is_no_consumers_any_more(client: Talk) -> None:
    client.do("XNACK s g FAIL IDS 2 1-1 2-1")
    assert client.do("XPENDING s g") == [3, b"1-1", b"3-1", [[b"c", b"1"]]]
    assert client.do("XREADGROUP GROUP g c STREAMS s 0")[0][1] == [[b"3-1", [b"f", b"v"]]]
    assert client.do("XREADGROUP GROUP g c STREAMS s 9-9")[0][1] == []
    assert client.raw("XREADGROUP GROUP g c STREAMS s >") == b"*-1\r\n"
    assert client.do("XGROUP DELCONSUMER s g c") == 1
    assert client.do("XPENDING s g") == [2, b"1-1", b"2-1", []]


def test_what_is_released_can_be_acknowledged(client: Talk) -> None:
    client.do("XNACK s g FAIL IDS 2 1-1 2-1")
    assert client.do("XACK s g 1-1") == 1
    assert client.do("XACKDEL s g IDS 1 2-1") == [1]
    assert client.do("XPENDING s g")[0] == 1


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("missing g FOO IDS 0 bad FOO", "NOGROUP No such key 'missing' or consumer group 'g'"),
        ("s missing FOO IDS 0 bad FOO", "NOGROUP No such key 's' or consumer group 'missing'"),
        ("s g FOO IDS 1 1-1", "ERR mode must be SILENT, FAIL, or FATAL"),
        ("s g FAIL FORCE IDS 1 1-1", "ERR syntax error, expected IDS keyword"),
        ("s g FAIL IDS 0 1-1", "ERR numids must be a positive integer"),
        ("s g FAIL IDS -1 1-1", "ERR numids must be a positive integer"),
        ("s g FAIL IDS x 1-1", "ERR numids must be a positive integer"),
        ("s g FAIL IDS 2 1-1", "ERR number of IDs doesn't match numids"),
        ("s g FAIL IDS 1 1-1 2-1", "ERR Unrecognized XNACK option '2-1'"),
        ("s g FAIL IDS 1 1-1 Foo", "ERR Unrecognized XNACK option 'Foo'"),
        ("s g FAIL IDS 1 1-1 RETRYCOUNT", "ERR Unrecognized XNACK option 'RETRYCOUNT'"),
        ("s g FAIL IDS 1 1-1 RETRYCOUNT -1", "ERR Invalid RETRYCOUNT value, must be >= 0"),
        ("s g FAIL IDS 1 1-1 RETRYCOUNT x", "ERR Invalid RETRYCOUNT value, must be >= 0"),
        ("s g FAIL IDS 2 1-1 bad", INVALID_ID),
        ("s g FAIL IDS 1", "ERR wrong number of arguments for 'xnack' command"),
    ],
)
def test_a_release_that_does_not_fit_is_refused(client: Talk, arguments: str, text: str) -> None:
    assert client.error(f"XNACK {arguments}") == text
    assert [row[1] for row in pending(client)] == ["c", "c", "c"]


def test_a_release_from_another_type_is_refused(client: Talk) -> None:
    client.do("SET string v")
    assert client.error("XNACK string g FAIL IDS 1 1-1").startswith("WRONGTYPE ")


def test_a_release_is_propagated_as_a_claim_by_no_consumer_and_causes_no_event(
    client: Talk, events: list[tuple[str, str]], propagated: list[str]
) -> None:
    client.do("XNACK s g FAIL IDS 1 9-9")
    assert propagated == []
    client.do("XNACK s g FAIL IDS 2 1-1 9-9 RETRYCOUNT 3 FORCE")
    assert (events, propagated) == (
        [],
        [
            "MULTI",
            "XCLAIM s g  0 1-1 TIME 0 RETRYCOUNT 3 FORCE JUSTID",
            carrier("XNACK s g FAIL IDS 1 1-1 RETRYCOUNT 3 FORCE"),
            b" ".join(wrap([b"XGROUP", b"DELCONSUMER", b"s", b"g", b""])).decode(),
            "EXEC",
        ],
    )


def test_a_release_of_an_entry_whose_content_is_gone_is_not_propagated_as_a_claim(
    two: Talk, propagated: list[str]
) -> None:
    two.do("XDEL s 1-1")
    propagated.clear()
    assert two.do("XNACK s g FAIL IDS 1 1-1") == 1
    assert not any(request.startswith("XCLAIM") for request in propagated)


def test_a_copy_keeps_the_order_of_releases(client: Talk) -> None:
    client.all("XNACK s g FAIL IDS 2 3-1 1-1", "COPY s t", "XNACK t g FAIL IDS 1 2-1")
    claimed = client.do("XREADGROUP GROUP g b CLAIM 0 STREAMS t >")[0][1]
    assert [entry[0] for entry in claimed] == [b"3-1", b"1-1", b"2-1"]
