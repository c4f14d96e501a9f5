"""XGROUP CONFIG and what XINFO POLICY says of a group."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessServer
from storage.policies.rows import STATISTICS, rows_of
from tests.commands.streams.policies.workers import Workers
from tests.commands.streams.talk import NOW_MS, Talk
from tests.server.replication.pairs import PRIMARY, REPLICA, Cluster, follow, is_up

OFF = {
    "ack-wait": 0, "backoff": [], "max-deliveries": 0, "dead-letter": b"", "max-pending": 0,
    "consumer-expiry": 0,
}  # fmt: skip


def test_a_group_without_policy_has_no_fields() -> None:
    workers = Workers()
    assert workers.info() == {}
    assert workers.group().policy is None


def test_only_the_options_that_are_named_change() -> None:
    workers = Workers("ACK-WAIT 30000 BACKOFF 1000 10000 MAX-PENDING 5")
    expected = OFF | {"ack-wait": 30000, "backoff": [1000, 10000], "max-pending": 5}
    assert expected.items() <= workers.info().items()
    workers.configure("max-deliveries 3 dead-letter dead ACK-WAIT 60000")
    expected |= {"max-deliveries": 3, "dead-letter": b"dead", "ack-wait": 60000}
    assert expected.items() <= workers.info().items()


def test_zero_and_an_empty_word_switch_an_option_off() -> None:
    workers = Workers("ACK-WAIT 30000 BACKOFF 1000 MAX-DELIVERIES 3 DEAD-LETTER dead")
    words = ["XGROUP", "CONFIG", "jobs", "g", "BACKOFF", "0", "MAX-DELIVERIES", "0", "DEAD-LETTER"]
    assert workers.talk.client.execute(*words, "") == b"+OK\r\n"
    assert (OFF | {"ack-wait": 30000}).items() <= workers.info().items()
    workers.configure("ACK-WAIT 0")
    assert workers.info() == {}
    assert workers.group().policy is None


def test_pauses_end_at_the_first_word_that_is_no_number() -> None:
    workers = Workers("BACKOFF 1 2 3 ACK-WAIT 5")
    assert workers.info()["backoff"] == [1, 2, 3]
    pauses = " ".join(["0"] * 31 + ["7"])
    workers.configure(f"BACKOFF {pauses}")
    assert workers.info()["backoff"] == [0] * 31 + [7]


BETWEEN_MS = "must be between 1 and 1000000000000"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("ACK-WAIT -1", f"ACK-WAIT {BETWEEN_MS}"),
        ("ACK-WAIT 1000000000001", f"ACK-WAIT {BETWEEN_MS}"),
        ("ACK-WAIT x", "value is not an integer or out of range"),
        ("ACK-WAIT 5 BACKOFF 1 -1", "BACKOFF must be between 0 and 1000000000000"),
        ("ACK-WAIT 5 BACKOFF " + " ".join(["1"] * 33), "BACKOFF takes between 1 and 32 waits"),
        ("MAX-DELIVERIES 1000000001", "MAX-DELIVERIES must be between 1 and 1000000000"),
        ("MAX-PENDING 2147483649", "MAX-PENDING must be between 1 and 2147483648"),
        ("ACK-WAIT 5 ACK-WAIT 6", "ACK-WAIT specified multiple times"),
        ("BACKOFF 5", "BACKOFF, MAX-DELIVERIES and KEY-FIELD require ACK-WAIT"),
        (
            "MAX-DELIVERIES 5 DEAD-LETTER dead",
            "BACKOFF, MAX-DELIVERIES and KEY-FIELD require ACK-WAIT",
        ),
        ("ACK-WAIT 5 MAX-DELIVERIES 5", "MAX-DELIVERIES and DEAD-LETTER require each other"),
        ("DEAD-LETTER dead", "MAX-DELIVERIES and DEAD-LETTER require each other"),
        (
            "ACK-WAIT 5 MAX-DELIVERIES 5 DEAD-LETTER jobs",
            "DEAD-LETTER can't be the stream itself",
        ),
        ("ACK-WAIT 5 CONSUMER-EXPIRY 5", "CONSUMER-EXPIRY must be greater than ACK-WAIT"),
        ("ACK-WAIT", "wrong number of arguments for 'xgroup|config' command"),
        ("ACK-WAIT 5 BACKOFF", "syntax error"),
        ("KEY-FIELD customer", "BACKOFF, MAX-DELIVERIES and KEY-FIELD require ACK-WAIT"),
        ("ACK-WAIT 5 KEY-FIELD " + 513 * "x", "KEY-FIELD must be at most 512 bytes"),
        ("ACK-WAIT 5 KEY-FIELD", "syntax error"),
        ("ACK-WAIT 5 KEY-FIELD a KEY-FIELD a", "KEY-FIELD specified multiple times"),
        (
            "ACK-WAIT 5 KEY-LOOKAHEAD 5",
            "KEY-LOOKAHEAD and KEY-LOOKAHEAD-KEY require KEY-FIELD",
        ),
        (
            "ACK-WAIT 5 KEY-LOOKAHEAD-KEY 5",
            "KEY-LOOKAHEAD and KEY-LOOKAHEAD-KEY require KEY-FIELD",
        ),
        (
            "ACK-WAIT 5 KEY-FIELD a KEY-LOOKAHEAD 1000001",
            "KEY-LOOKAHEAD must be between 1 and 1000000",
        ),
        (
            "ACK-WAIT 5 KEY-FIELD a KEY-LOOKAHEAD-KEY -1",
            "KEY-LOOKAHEAD-KEY must be between 1 and 1000000",
        ),
        ("ACK-WAIT 5 KEY-FIELD a KEY-LOOKAHEAD many", "value is not an integer or out of range"),
    ],
)
def test_a_bad_request_changes_nothing(options: str, error: str) -> None:
    workers = Workers("MAX-PENDING 3")
    before = workers.info()
    assert workers.talk.error(f"XGROUP CONFIG jobs g {options}") == f"ERR {error}"
    assert workers.info() == before


def test_options_are_checked_before_the_key(client: Talk) -> None:
    assert "syntax" in client.error("XGROUP CONFIG none g FILTER 1")
    assert "key to exist" in client.error("XGROUP CONFIG none g ACK-WAIT 1")
    client.do("XADD s 1-1 f v")
    assert client.error("XGROUP CONFIG s g ACK-WAIT 1").startswith("NOGROUP No such consumer group")
    client.do("SET text x")
    assert client.error("XGROUP CONFIG text g ACK-WAIT 1").startswith("WRONGTYPE")


def test_it_is_propagated_in_a_carrier(client: Talk, propagated: list[str]) -> None:
    client.do("XGROUP CREATE jobs g 0 MKSTREAM")
    propagated.clear()
    client.do("XGROUP CONFIG jobs g ACK-WAIT 5 MAX-DELIVERIES 2 DEAD-LETTER dead")
    (request,) = propagated
    assert request.startswith("ECHO rillway")
    replica = Talk(InProcessServer(now_ms=NOW_MS))
    replica.do("XGROUP CREATE jobs g 0 MKSTREAM")
    replica.replay(request)
    assert replica.do("XINFO POLICY jobs g") == client.do("XINFO POLICY jobs g")


def test_a_user_needs_the_right_to_write_dead_letters(client: Talk) -> None:
    client.all(
        "XGROUP CREATE jobs g 0 MKSTREAM",
        "ACL SETUSER bob on nopass ~jobs %W~dead* %R~letters +@all",
        "AUTH bob x",
    )
    options = "ACK-WAIT 5 MAX-DELIVERIES 2 DEAD-LETTER"
    assert client.error(f"XGROUP CONFIG jobs g {options} letters").startswith("NOPERM")
    assert client.error(f"XGROUP CONFIG jobs g BACKOFF 1 2 {options} letters").startswith("NOPERM")
    client.do(f"XGROUP CONFIG jobs g BACKOFF 1 2 {options} dead:jobs")


def test_the_state_of_a_group() -> None:
    workers = Workers("ACK-WAIT 100 BACKOFF 50 MAX-PENDING 4")
    workers.add(1, 2, 3, 4)
    workers.read("a", "COUNT 3")
    workers.talk.do("XNACK jobs g FAIL IDS 1 2-1 REASON tired")
    workers.talk.do("XDEL jobs 3-1")
    info = workers.info()
    assert info["next-due"] == workers.server.now_ms + 50
    assert [info[name] for name in ("in-flight", "due", "released", "reasons")] == [1, 0, 1, 1]
    assert (info["before-deadline"], info["in-pause"]) == (1, 1)
    workers.server.advance(100)
    info = workers.info()
    assert (info["before-deadline"], info["in-pause"]) == (0, 1)  # 1-1 between deadline and BACKOFF
    workers.server.advance(50)
    info = workers.info()
    assert (info["before-deadline"], info["in-pause"]) == (0, 0)
    assert [info[name] for name in ("in-flight", "due", "released", "held")] == [1, 3, 1, 0]
    assert workers.read("b") == [2, 1, 4]
    info = workers.info()
    assert info["ghosts-dropped"] == 1
    assert info["redelivered"] == 2
    fields = workers.talk.do("INFO policies").decode().split("\r\n")
    assert {"redelivered_total:2", "groups_with_policy:1"} <= set(fields)


# -- files and replicas ------------------------------------------------------------------------


def busy_group(**directives: str) -> Workers:
    """A group with a policy, and entries in each state that it knows."""
    server = InProcessServer(NOW_MS, 0, enable_debug_command="yes", **directives)
    workers = Workers(server=server)
    workers.configure("ACK-WAIT 1000 BACKOFF 100 500 MAX-DELIVERIES 4 DEAD-LETTER dead")
    workers.configure("MAX-PENDING 100 CONSUMER-EXPIRY 50000")
    workers.add(*range(1, 9))
    workers.read("a", "COUNT 2")
    workers.server.advance(1100)
    workers.read("b", "COUNT 5")
    workers.talk.do("XNACK jobs g FAIL IDS 1 3-1 DELAY 60000 REASON timeout")
    workers.talk.do("XNACK jobs g SILENT IDS 1 4-1")
    workers.talk.do("XNACK jobs g FATAL IDS 1 5-1 REASON poison")
    return workers


def state(workers: Workers) -> list[object]:
    talk = workers.talk
    group = workers.group()
    assert group.policy is not None
    return [
        talk.do("XINFO POLICY jobs g"), workers.pending(),
        talk.do("XREASON jobs g 3-1"), talk.do("XRANGE dead - +"), talk.do("DEBUG DIGEST"),
        group.policy.options, dict(group.policy.due.delays()), group.policy.reasons,
    ]  # fmt: skip


def reopened(workers: Workers, server: InProcessServer) -> Workers:
    again = object.__new__(Workers)
    again.server, again.talk = server, Talk(server)
    return again


FILES = {
    "save": {"appendonly": "no"},
    "append only": {"appendonly": "yes"},
    "rewritten": {"appendonly": "yes"},
    "rewritten without preamble": {"appendonly": "yes", "aof_use_rdb_preamble": "no"},
}


@pytest.mark.parametrize("kind", FILES)
def test_a_restart_brings_everything_back(kind: str) -> None:
    workers = busy_group(**FILES[kind])
    if kind == "save":
        workers.talk.do("SAVE")
    if kind.startswith("rewritten"):
        workers.talk.do("BGREWRITEAOF")
        for _ in range(5):
            workers.server.advance(0)
    workers.server.advance(0)
    before = state(workers)
    again = reopened(workers, workers.server.restart())
    after = state(again)
    if kind == "append only":  # counters are those of snapshots
        before[0], after[0] = None, None
    assert after == before


def test_deadlines_wait_for_living_workers_after_a_restart() -> None:
    workers = busy_group(appendonly="yes")
    workers.server.advance(30_000)
    workers.server.advance(0)
    again = reopened(workers, workers.server.restart())
    again.server.advance(4999)
    assert again.read("c", "COUNT 20") == [4, 6, 7, 8]  # released, and new
    again.talk.do("XACK jobs g 1-1")
    again.server.advance(1)
    assert again.read("c", "COUNT 20") == [2]


def test_a_replica_has_the_same_and_goes_on_when_it_is_promoted() -> None:
    cluster = Cluster()
    primary, other = (
        cluster.server(port, enable_debug_command="yes") for port in (PRIMARY, REPLICA)
    )
    follow(other)
    workers = Workers(server=primary)
    workers.configure("ACK-WAIT 1000 MAX-DELIVERIES 2 DEAD-LETTER dead")
    cluster.settle(12)
    assert is_up(other)
    workers.add(1, 2, 3)
    workers.read("a")
    workers.talk.do("XNACK jobs g FAIL IDS 1 3-1 DELAY 60000 REASON timeout")
    cluster.advance(0)
    replica = reopened(workers, other)
    assert state(replica)[1:] == state(workers)[1:]
    cluster.advance(1000)
    assert workers.read("b") == [1]
    cluster.advance(0)
    assert replica.pending() == workers.pending() != {}
    assert replica.letters() == []
    cluster.advance(1000)
    cluster.advance(0)
    assert state(replica)[1:] == state(workers)[1:]
    assert len(replica.letters()) == 1
    workers.server.advance(0)
    replica.talk.do("REPLICAOF NO ONE")
    replica.server.advance(4999)
    assert replica.read("c") == []
    replica.server.advance(1)
    assert replica.read("c") == [2]
    replica.server.advance(60_000)
    assert [letter["n"] for letter in replica.letters()] == ["1", "2"]
    assert replica.read("c") == [3]
    assert replica.talk.do("XREASON jobs g 3-1") == b"timeout"


def test_the_state_of_very_many_entries_is_estimated() -> None:
    workers = Workers("ACK-WAIT 1000 BACKOFF 500")
    workers.talk.pipeline(*(f"XADD jobs {number}-1 f v" for number in range(1, 1202)))
    workers.read("a", "COUNT 1200")

    def state() -> list[int]:
        info = workers.info()
        return [info[name] for name in ("in-flight", "before-deadline", "in-pause", "due")]

    workers.server.advance(999)
    assert state() == [1200, 1200, 0, 0]
    workers.server.advance(1)
    assert state() == [1200, 200, 1000, 0]  # a look moves a thousand
    assert state() == [1200, 0, 1200, 0]
    workers.server.advance(500)
    assert state() == [1200, 0, 0, 1200]
    workers.configure("ACK-WAIT 0 BACKOFF 0 MAX-PENDING 5000")
    assert state() == [1200, 0, 0, 0]
    assert "next-due" not in workers.info()


# -- keys, in files and replicas ---------------------------------------------------------------


def keyed_group(server: InProcessServer) -> Workers:
    """Key a: 1 in work, 2, 4 reserved and 6, 7 passed over. Key b: 3 was taken over, 5 reserved."""
    workers = Workers(server=server)
    workers.configure("ACK-WAIT 1000 KEY-FIELD k KEY-LOOKAHEAD-KEY 2")
    for number, name in enumerate("aababaa", 1):
        workers.talk.do(f"XADD jobs {number}-1 k {name}")
    assert workers.read("x", "COUNT 1") == [1]
    assert workers.read("y") == [3, 5]
    server.advance(1000)
    workers.talk.do("XCLAIM jobs g x 0 1-1")
    assert workers.read("z", "COUNT 1") == [3]
    return workers


def key_state(workers: Workers) -> list[object]:
    rows = [row for row in rows_of(workers.stream()) if row[0] not in STATISTICS]
    groups = workers.talk.do("XINFO GROUPS jobs")
    return [workers.pending(), rows, groups, workers.talk.do("DEBUG DIGEST")]


def finish_keyed(workers: Workers) -> None:
    """What each consumer gets from then on."""
    assert workers.read("y") == []
    workers.talk.do("XACK jobs g 3-1 1-1")
    assert workers.read("z") == [2, 4, 5]
    assert workers.read("x") == []
    assert workers.read("z") == [6, 7]


@pytest.mark.parametrize("kind", FILES)
def test_a_restart_brings_keys_back(kind: str) -> None:
    server = InProcessServer(NOW_MS, 0, enable_debug_command="yes", **FILES[kind])
    workers = keyed_group(server)
    if kind == "save":
        workers.talk.do("SAVE")
    if kind.startswith("rewritten"):
        workers.talk.do("BGREWRITEAOF")
        for _ in range(5):
            server.advance(0)
    server.advance(0)
    again = reopened(workers, server.restart())
    assert key_state(again) == key_state(workers)
    assert again.info()["keys-locked"] == 2
    finish_keyed(again)


def test_a_copy_under_another_key_has_the_same_keys() -> None:
    server = InProcessServer(NOW_MS, 0, enable_debug_command="yes")
    workers = keyed_group(server)
    before = key_state(workers)[:2]
    workers.talk.do("COPY jobs twin")
    workers.talk.do("DEL jobs")
    workers.talk.do("RENAME twin jobs")
    workers.talk.do("SWAPDB 0 1")
    workers.talk.do("SELECT 1")
    workers.talk.do("MOVE jobs 0")
    workers.talk.do("SELECT 0")
    assert key_state(workers)[:2] == before
    finish_keyed(workers)


def test_a_promoted_replica_goes_on_with_the_keys() -> None:
    cluster = Cluster()
    primary, other = (
        cluster.server(port, enable_debug_command="yes") for port in (PRIMARY, REPLICA)
    )
    follow(other)
    cluster.settle(12)
    assert is_up(other)
    workers = keyed_group(primary)
    cluster.advance(0)
    replica = reopened(workers, other)
    assert key_state(replica) == key_state(workers)
    replica.info()  # makes locks, of which the next delivery knows nothing
    workers.talk.do("XADD jobs 8-1 k c")
    assert workers.read("x", "COUNT 1") == [8]
    cluster.advance(0)
    assert key_state(replica) == key_state(workers)
    replica.talk.do("REPLICAOF NO ONE")
    replica.talk.do("XACK jobs g 8-1")
    finish_keyed(replica)


def test_a_group_takes_its_keys_along() -> None:
    server = InProcessServer(NOW_MS, 0, enable_debug_command="yes")
    workers = keyed_group(server)
    used = workers.talk.do("MEMORY USAGE jobs")
    workers.talk.do("XGROUP DESTROY jobs g")
    assert workers.talk.do("MEMORY USAGE jobs") < used - 1000
