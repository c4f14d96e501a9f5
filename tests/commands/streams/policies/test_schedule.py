"""XADD with DELAY and AT, XSCHEDULED and XUNSCHEDULE."""

from __future__ import annotations

import pytest

from commands.streams.policies import schedule as module
from server.inprocess.server import InProcessServer
from tests.commands.streams.talk import NOW_MS, Talk, carrier

INVALID_TICKET = "ERR Invalid ticket specified as stream command argument"


def ticket(after_ms: int, number: int) -> bytes:
    return b"%d-%d" % (NOW_MS + after_ms, number)


def test_a_delay_answers_a_ticket(client: Talk) -> None:
    assert client.do("XADD s DELAY 100 * f v") == ticket(100, 1)
    assert client.do(f"XADD s at {NOW_MS + 50} * f w g x") == ticket(50, 2)
    assert client.do("XADD s NOMKSTREAM delay 0 * f v") == ticket(0, 3)
    assert client.do("XADD s AT 0 * f v") == b"0-4"
    assert client.do("XLEN s") == 0
    assert client.fields("XINFO STREAM s")["entries-added"] == 0


def test_a_schedule_is_listed_in_the_order_of_the_times(client: Talk) -> None:
    client.all("XADD s DELAY 100 * f 1", "XADD s DELAY 50 * f 2", "XADD s DELAY 100 * f 3")
    client.do("XADD s DELAY 5000 * f 4")
    second = [ticket(50, 2), [b"f", b"2"]]
    first, third = [ticket(100, 1), [b"f", b"1"]], [ticket(100, 3), [b"f", b"3"]]
    last = [ticket(5000, 4), [b"f", b"4"]]
    assert client.do("XSCHEDULED s") == [second, first, third, last]
    assert client.do("XSCHEDULED s - + COUNT 2") == [second, first]
    assert client.do(f"XSCHEDULED s {NOW_MS + 100} {NOW_MS + 100}") == [first, third]
    assert client.do(f"XSCHEDULED s ({NOW_MS + 100}-1 + count 1") == [third]
    assert client.do(f"XSCHEDULED s - ({NOW_MS + 100}-3") == [second, first]
    assert client.do("XSCHEDULED s + -") == []
    assert client.do(f"XSCHEDULED s {2**64 - 1} +") == []


def test_there_is_no_schedule_without_a_stream_or_an_entry(client: Talk) -> None:
    client.all("XADD plain 1-1 f v", "SET string v")
    for key in ("missing", "plain"):
        assert client.do(f"XSCHEDULED {key}") == []
        assert client.do(f"XUNSCHEDULE {key} 1-1") == 0
        assert "scheduled" not in client.fields("XINFO POLICY plain")
    for request in ("XSCHEDULED string", "XUNSCHEDULE string 1-1", "XADD string DELAY 5 * f v"):
        assert client.error(request).startswith("WRONGTYPE ")


def test_nomkstream_creates_no_stream(client: Talk, propagated: list[str]) -> None:
    assert client.do("XADD s NOMKSTREAM DELAY 5 * f v") is None
    assert client.do("EXISTS s") == 0
    assert propagated == []


def test_an_entry_can_be_cancelled_once(client: Talk, propagated: list[str]) -> None:
    for _ in range(3):
        client.do("XADD s DELAY 100 * f v")
    propagated.clear()
    first, second = ticket(100, 1).decode(), ticket(100, 2).decode()
    assert client.do(f"XUNSCHEDULE s {first} {first} 1-1 {second}") == 2
    assert client.do(f"XUNSCHEDULE s {first}") == 0
    assert [row[0] for row in client.do("XSCHEDULED s")] == [ticket(100, 3)]
    due_ms = NOW_MS + 100
    assert propagated == [carrier(f"XPOLICY s unscheduled {due_ms} 1 {due_ms} 2")]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("DELAY -1 * f v", "ERR Invalid DELAY value, must be >= 0"),
        ("DELAY x * f v", "ERR Invalid DELAY value, must be >= 0"),
        ("DELAY 1.5 * f v", "ERR Invalid DELAY value, must be >= 0"),
        ("DELAY * f v", "ERR Invalid DELAY value, must be >= 0"),
        ("DELAY 9223372036854775808 * f v", "ERR Invalid DELAY value, must be >= 0"),
        ("DELAY 9223372036854775807 * f v", "ERR Invalid DELAY value, must be >= 0"),
        ("AT -1 * f v", "ERR Invalid AT value, must be >= 0"),
        ("AT 9223372036854775808 * f v", "ERR Invalid AT value, must be >= 0"),
        ("AT 5 DELAY 5 * f v", "ERR syntax error, DELAY and AT options at the same time are not"
         " compatible"),
        ("DELAY 5 DELAY 5 * f v", "ERR DELAY specified multiple times"),
        ("AT 5 AT 5 * f v", "ERR AT specified multiple times"),
        ("DELAY 5 1-1 f v", "ERR syntax error, DELAY/AT can be used only with auto-generated IDs"),
        ("DELAY 5 9-* f v", "ERR syntax error, DELAY/AT can be used only with auto-generated IDs"),
        ("DELAY 5 MAXLEN 5 * f v", "ERR syntax error, DELAY/AT can't be combined with trimming"),
        ("MAXLEN = 5 DELAY 5 * f v", "ERR syntax error, DELAY/AT can't be combined with trimming"),
        ("MINID 5 AT 5 * f v", "ERR syntax error, DELAY/AT can't be combined with trimming"),
        ("KEEPREF DELAY 5 * f v", "ERR syntax error, DELAY/AT can't be combined with trimming"),
        ("DELAY 5 ACKED * f v", "ERR syntax error, DELAY/AT can't be combined with trimming"),
        ("DELAY 5 LIMIT 5 * f v", "ERR syntax error, LIMIT cannot be used without specifying a"
         " trimming strategy"),
        ("DELAY 5 * f", "ERR wrong number of arguments for 'xadd' command"),
        ("DELAY 5 * f v g", "ERR wrong number of arguments for 'xadd' command"),
        ("DELAY 5 * *", "ERR wrong number of arguments for 'xadd' command"),
        ("LATER 5 * f v", "ERR Invalid stream ID specified as stream command argument"),
    ],
)  # fmt: skip
def test_what_xadd_refuses_with_a_delay(client: Talk, words: str, error: str) -> None:
    client.do("SET string v")
    for key in ("s", "string"):
        assert client.error(f"XADD {key} {words}") == error
    assert client.do("EXISTS s") == 0


def test_the_latest_time_that_there_is_can_be_given(client: Talk) -> None:
    assert client.do(f"XADD s AT {2**63 - 1} * f v") == b"%d-1" % (2**63 - 1)
    assert client.do("XSCHEDULED s + +") == []
    assert client.do(f"XSCHEDULED s {2**63 - 1} +") == [[b"%d-1" % (2**63 - 1), [b"f", b"v"]]]


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ("XSCHEDULED s x +", INVALID_TICKET),
        ("XSCHEDULED s - (", INVALID_TICKET),
        ("XSCHEDULED s -", "ERR syntax error"),
        ("XSCHEDULED s - + 5", "ERR syntax error"),
        ("XSCHEDULED s - + LIMIT 5", "ERR syntax error"),
        ("XSCHEDULED s - + COUNT 0", "ERR COUNT must be > 0"),
        ("XSCHEDULED s - + COUNT x", "ERR COUNT must be > 0"),
        ("XUNSCHEDULE s 1-1 x", INVALID_TICKET),
        ("XUNSCHEDULE s -", INVALID_TICKET),
        ("XUNSCHEDULE s", "ERR wrong number of arguments for 'xunschedule' command"),
    ],
)
def test_a_wrong_word_is_refused_with_and_without_a_stream(
    client: Talk, request_: str, error: str
) -> None:
    assert client.error(request_) == error
    client.do("XADD s DELAY 5 * f v")
    assert client.error(request_) == error
    assert len(client.do("XSCHEDULED s")) == 1


def test_scheduling_is_propagated_in_carriers(client: Talk, propagated: list[str]) -> None:
    client.all("XADD s DELAY 5 * f v g w", "XADD s DELAY 5 IDMP p 7 * f v")
    due_ms = NOW_MS + 5
    assert propagated == [
        "MULTI",
        "XGROUP CREATE s rillway 0 MKSTREAM",
        "XGROUP DESTROY s rillway",
        carrier(f"XPOLICY s scheduled {due_ms} 1 f v g w"),
        "EXEC",
        "MULTI",
        carrier(f"XPOLICY s scheduled {due_ms} 2 f v"),
        carrier(f"XPOLICY s named {due_ms} 2 p 7"),
        "EXEC",
    ]


def test_scheduling_does_not_fail_a_transaction_that_watches_the_key(
    client: Talk, server: InProcessServer
) -> None:
    other = Talk(server)
    client.do("WATCH s")
    other.do("XADD s DELAY 50 * f v")  # which creates it
    client.do("MULTI")
    assert client.raw("EXEC") == b"*-1\r\n"
    client.do("WATCH s")
    other.do("XADD s DELAY 50 * f v")
    other.do(f"XUNSCHEDULE s {ticket(50, 1).decode()}")
    client.do("MULTI")
    assert client.raw("EXEC") == b"*0\r\n"
    client.do("WATCH s")
    server.advance(50)
    client.do("MULTI")
    assert client.raw("EXEC") == b"*-1\r\n"


def test_a_repetition_gets_the_ticket_and_later_the_id(
    client: Talk, server: InProcessServer
) -> None:
    first = client.do("XADD s IDMP p 7 DELAY 50 * f v")
    for words in ("IDMP p 7 DELAY 900 * f v", "AT 0 IDMP p 7 * other v", "IDMP p 7 * f v"):
        assert client.do(f"XADD s {words}") == first
    assert client.do("XADD s IDMP p 8 DELAY 50 * f v") == ticket(50, 2)
    assert client.do("XADD s IDMP other 7 DELAY 50 * f v") == ticket(50, 3)
    server.advance(50)
    ids = client.ids("s")
    assert len(ids) == 3
    assert client.do("XADD s IDMP p 7 DELAY 900 * f v").decode() == ids[0]
    assert client.do("XADD s IDMP p 7 * f v").decode() == ids[0]
    assert client.do("XSCHEDULED s") == []


def test_a_name_made_of_the_content_is_bound_to_the_ticket(client: Talk) -> None:
    first = client.do("XADD s IDMPAUTO p DELAY 50 * f v")
    assert client.do("XADD s DELAY 70 IDMPAUTO p * f v") == first
    assert client.do("XADD s IDMPAUTO p DELAY 50 * f w") == ticket(50, 2)


def test_a_cancelled_entry_can_be_sent_again_under_its_name(client: Talk) -> None:
    client.do("XADD s IDMP p 7 DELAY 50 * f v")
    client.do(f"XUNSCHEDULE s {ticket(50, 1).decode()}")
    assert client.do("XADD s IDMP p 7 DELAY 60 * f v") == ticket(60, 2)


def test_a_schedule_counts_as_memory(client: Talk) -> None:
    client.do("XADD s 1-1 f v")
    before = client.do("MEMORY USAGE s")
    client.do("XADD s DELAY 50 * f " + "x" * 5000)
    assert client.do("MEMORY USAGE s") > before + 5000


def test_scheduling_is_refused_where_memory_is_full(server: InProcessServer, client: Talk) -> None:
    client.do("CONFIG SET maxmemory 1")
    assert client.error("XADD s DELAY 50 * f v").startswith("OOM ")


def test_keys_that_move_take_their_schedule_along_and_copies_do_not(
    client: Talk, server: InProcessServer
) -> None:
    client.do("XADD s DELAY 50 * f v")
    client.all("COPY s copy", "RENAME s t", "MOVE t 1")
    assert client.do("XSCHEDULED copy") == []
    assert client.do("XADD copy DELAY 50 * f v") == ticket(50, 1)
    client.do("SELECT 1")
    assert client.do("XSCHEDULED t") == [[ticket(50, 1), [b"f", b"v"]]]
    client.do("SWAPDB 0 1")
    client.do("SELECT 0")
    server.advance(50)
    assert len(client.ids("t")) == 1


@pytest.mark.parametrize("request_", ["DEL s", "UNLINK s", "SET s v", "FLUSHALL", "PEXPIRE s 20"])
def test_a_key_that_goes_takes_its_schedule_with_it(
    client: Talk, server: InProcessServer, request_: str
) -> None:
    client.do("XADD s DELAY 50 * f v")
    client.do(request_)
    server.advance(60)
    client.all("DEL s", "XADD s DELAY 50 * f v")
    server.advance(50)
    assert client.do("XLEN s") == 1


def test_a_policy_shows_what_waits(client: Talk, server: InProcessServer) -> None:
    client.all("XADD s DELAY 70 * f v", "XADD s DELAY 50 * f v")
    assert client.fields("XINFO POLICY s") == {"scheduled": 2, "scheduled-next": NOW_MS + 50}
    assert b"scheduled_entries:2\r\n" in client.do("INFO policies")
    server.advance(100)
    assert client.fields("XINFO POLICY s") == {"scheduled": 0}


@pytest.mark.parametrize("count", [10, 2500])
def test_a_long_list_is_that_of_the_moment_when_it_was_asked_for(
    client: Talk, server: InProcessServer, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MANY_ENTRIES", 8)
    for number in range(count):
        client.do(f"XADD s DELAY {5000 - number} * f {number}")
    rows = client.do("XSCHEDULED s")
    assert rows == sorted(rows)
    assert len(rows) == count
    assert client.do("XSCHEDULED s - + COUNT 9") == rows[:9]
    assert client.do(f"XSCHEDULED s ({rows[3][0].decode()} +") == rows[4:]
    client.all("MULTI", "XSCHEDULED s", f"XUNSCHEDULE s {rows[0][0].decode()}")
    assert client.do("EXEC") == [rows, 1]


def test_transactions_and_scripts_schedule(client: Talk, propagated: list[str]) -> None:
    client.all("XADD s 1-1 f v", "MULTI", "XADD s DELAY 5 * f v", "SET k v")
    propagated.clear()
    assert client.do("EXEC") == [ticket(5, 1), b"OK"]
    row = f"XPOLICY s scheduled {NOW_MS + 5}"
    assert propagated == ["MULTI", carrier(f"{row} 1 f v"), "SET k v", "EXEC"]
    propagated.clear()
    script = "return redis.call('XADD', KEYS[1], 'DELAY', 5, '*', 'f', 'v')"
    assert client.client.execute("EVAL", script, 1, "s") == b"$15\r\n%b\r\n" % ticket(5, 2)
    assert propagated == [carrier(f"{row} 2 f v")]


def test_no_client_can_send_what_carriers_bring(client: Talk) -> None:
    assert client.error("XPOLICY s scheduled 5 1 f v").startswith("ERR unknown command")
    text = carrier("XPOLICY s scheduled 5 1 f v").removeprefix("ECHO ")
    assert client.client.execute("ECHO", text).startswith(b"$")
    assert client.do("EXISTS s") == 0
