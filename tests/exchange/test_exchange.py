"""Data goes from Rillway to a real redis-server and back, and the other way round, unchanged.

Through snapshots, through append-only files (with a snapshot as their base, and with requests), and
through DUMP and RESTORE. At every step everything that a server shows of its data is the same.
"""

from __future__ import annotations

import pytest

from tests.exchange.data_set import FAR_MS, Requests, dangling, everything, more
from tests.exchange.running import Run
from tests.exchange.views import differences, hash_fields
from tests.support.waiting import until

pytestmark = pytest.mark.compat


def the_other(kind: str) -> str:
    return "redis" if kind == "rillway" else "rillway"


@pytest.mark.parametrize("kind", ["rillway", "redis"])
def test_a_snapshot_goes_there_and_back(run: Run, kind: str) -> None:
    first = run(kind)
    first.fill([*everything(), *dangling()])
    second = run(the_other(kind), files=(first.save(),))
    assert differences(first.view(lag=False), second.view(lag=False)) == []
    third = run(kind, files=(second.save(),))
    assert differences(first.view(), third.view()) == []
    assert first.digest() == third.digest()


@pytest.mark.parametrize("preamble", ["yes", "no"])
@pytest.mark.parametrize("kind", ["rillway", "redis"])
def test_an_append_only_file_goes_there_and_back(run: Run, kind: str, preamble: str) -> None:
    append_only = ("--appendonly", "yes", "--aof-use-rdb-preamble", preamble)
    how = {"seen_times": False}  # requests do not carry them
    first = run(kind, *append_only)
    first.fill(everything())
    first.rewrite()
    first.fill(more())
    files = (first.append_only_files(),)
    # The same server after a restart: Redis 7.0 does not write down what XREADGROUP does to
    # entries-read, so that its own file does not give back what it had.
    again = run(kind, *append_only, files=files)
    if kind == "rillway":
        assert differences(first.view(**how), again.view(**how)) == []
        assert first.digest() == again.digest()
    second = run(the_other(kind), *append_only, files=files)
    assert differences(again.view(lag=False, **how), second.view(lag=False, **how)) == []

    for server in (again, second):
        server.rewrite()
        server.fill([(0, ("XADD", "nodes", "2000-1", "from", "there"))])
    third = run(kind, *append_only, files=(second.append_only_files(),))
    assert differences(again.view(**how), third.view(**how)) == []
    assert again.digest() == third.digest()


def test_a_limited_trim_of_redis_loses_no_entry(run: Run) -> None:
    append_only = ("--appendonly", "yes", "--aof-use-rdb-preamble", "no")
    redis = run("redis", *append_only)
    cap = ("MAXLEN", "~", 1000, "LIMIT", 100)
    redis.fill([(0, ("XADD", "k", *cap, f"{n}-0", "f", n)) for n in range(1, 6)])
    redis.fill([(0, ("XTRIM", "k", "MINID", "~", "3-0", "LIMIT", 100))])
    files = (redis.append_only_files(),)
    again = run("rillway", *append_only, files=files)
    assert again.link.ask("XLEN", "k") == 5
    assert differences(redis.view(seen_times=False), again.view(seen_times=False)) == []


@pytest.mark.parametrize("preamble", ["yes", "no"])
def test_a_redis_takes_files_of_a_stream_with_a_journal_of_its_acknowledgements(
    run: Run, preamble: str
) -> None:
    append_only = ("--appendonly", "yes", "--aof-use-rdb-preamble", preamble)
    first = run("rillway", *append_only)
    journal: Requests = [(0, ("XCFGSET", "groups", "ACK-JOURNAL", "acks"))]
    acknowledged: Requests = [(0, ("XACK", "groups", "all", "2-1"))]
    whole: Requests = [
        (0, ("MULTI",)),
        (0, ("XADD", "shapes", "*", "a", "b")),
        (0, ("XCFGSET", "shapes", "ACK-JOURNAL", "acks", "ACK-JOURNAL-MAXLEN", 9)),
        (0, ("EXEC",)),
    ]
    first.fill([*everything(), *journal, *acknowledged])
    first.rewrite()
    first.fill([*more(), *whole, (0, ("XCFGSET", "groups", "ACK-JOURNAL-MAXLEN", 7))])
    files = (first.append_only_files(),)
    redis = run("redis", *append_only, files=files)  # starts without a warning
    again = run("rillway", *append_only, files=files)
    assert again.link.ask("XINFO", "POLICY", "groups")[:4] == [
        b"ack-journal", b"acks", b"ack-journal-maxlen", 7,
    ]  # fmt: skip
    assert first.digest() == again.digest()
    how = {"lag": False, "seen_times": False}
    assert differences(again.view(**how), redis.view(**how)) == []


@pytest.mark.parametrize("heir", ["redis", "valkey"])
@pytest.mark.parametrize("form", ["snapshot", "preamble", "requests"])
def test_files_of_streams_with_schedules_have_what_has_appeared(
    run: Run, form: str, heir: str
) -> None:
    preamble = "no" if form == "requests" else "yes"
    append_only = ("--appendonly", "yes", "--aof-use-rdb-preamble", preamble)
    directives = () if form == "snapshot" else append_only
    first = run("rillway", *directives)
    scheduled: Requests = [
        (0, ("XADD", "shapes", "AT", FAR_MS, "*", "task", "later")),
        (0, ("XADD", "shapes", "IDMP", "p", "1", "AT", FAR_MS, "*", "task", "named")),
        (0, ("XADD", "empty", "AT", FAR_MS, "*", "task", "of an empty stream")),
        (0, ("XADD", "done", "DELAY", 0, "*", "task", "appears")),
        (0, ("XGROUP", "DELCONSUMER", "groups", "known", "dave", "TRANSFER", "heir")),
        (0, ("XDELRANGE", "nodes", "-", "5-1")),
        (0, ("XDELRANGE", "nodes", "30-1", "+", "COUNT", 20)),
        (0, ("XGROUP", "CONFIG", "groups", "all", "ACK-WAIT", 10**9, "BACKOFF", 5, 9)),
        (0, ("XGROUP", "CREATE", "shapes", "workers", 0)),
        (0, ("XREADGROUP", "GROUP", "workers", "w", "COUNT", 3, "STREAMS", "shapes", ">")),
        (0, ("XGROUP", "CONFIG", "shapes", "workers", "ACK-WAIT", 10**9,
             "MAX-DELIVERIES", 2, "DEAD-LETTER", "dead", "MAX-PENDING", 9)),
    ]  # fmt: skip
    first.fill([*everything(), *scheduled[:4]])
    if form != "snapshot":
        first.rewrite()
        first.fill(more())
        # Not in a snapshot for a Redis 7.0, which gives what was released an owner.
        first.fill([(0, ("XGROUP", "DELCONSUMER", "groups", "all", "bob", "KEEPPENDING"))])
    first.fill(scheduled)
    while first.link.ask("XLEN", "done") < 2:
        pass
    pending = [row[0] for row in first.link.ask("XPENDING", "shapes", "workers", "-", "+", 9)]
    assert len(pending) == 3
    first.fill([(0, ("XNACK", "shapes", "workers", "FATAL", "IDS", 1, pending[0]))])
    if form != "snapshot":
        late = ("IDS", 1, pending[1], "DELAY", 10**9, "REASON", "no route")
        first.fill([(0, ("XNACK", "shapes", "workers", "FAIL", *late))])
    files = (first.save() if form == "snapshot" else first.append_only_files(),)
    second = run(heir, *directives, files=files)  # starts without a warning
    again = run("rillway", *directives, files=files)
    assert first.digest() == again.digest()
    assert again.link.ask("XSCHEDULED", "shapes") == first.link.ask("XSCHEDULED", "shapes")
    how = {"lag": False, "seen_times": False}
    assert differences(first.view(**how), again.view(**how)) == []
    # A Redis has released entries as those of a consumer with an empty name.
    for one in (first, again):
        assert one.link.ask("SELECT", 0) == b"OK"
    for words in (("POLICY", "shapes", "workers"), ("POLICY", "groups", "all")):
        now, then = (one.link.ask("XINFO", *words) for one in (again, first))
        # No deadline is over before some time after a start: then one is that is long past.
        for fields in (now, then):
            fields[fields.index(b"due") + 1] += fields.pop(fields.index(b"before-deadline") + 1)
        assert now[: now.index(b"next-due")] == then[: then.index(b"next-due")]
    assert first.link.ask("XLEN", "dead") == 1
    for key in ("shapes", "empty", "done", "nodes", "groups", "dead"):
        ranges = [one.link.ask("XRANGE", key, "-", "+") for one in (first, second)]
        assert ranges[0] == ranges[1]
    for key, group in (("groups", "all"), ("groups", "known"), ("shapes", "workers")):
        rows = [
            [row[:2] + row[3:] for row in one.link.ask("XPENDING", key, group, "-", "+", 999)]
            for one in (first, second)
        ]
        assert rows[0] == rows[1] != []
    assert second.link.ask("XINFO", "STREAM", "empty")[1] == 0


@pytest.mark.parametrize("heir", ["redis", "valkey"])
@pytest.mark.parametrize("form", ["snapshot", "preamble", "requests"])
def test_files_of_streams_with_retention_have_what_was_kept(run: Run, form: str, heir: str) -> None:
    preamble = "no" if form == "requests" else "yes"
    append_only = ("--appendonly", "yes", "--aof-use-rdb-preamble", preamble)
    directives = () if form == "snapshot" else append_only
    first = run("rillway", *directives)
    ask = first.link.ask
    acked = ("RETAIN-REFS", "ACKED", "RETAIN-ACKED", "yes")
    kept: Requests = [
        (0, ("XCFGSET", "nodes", "RETAIN-LEN", 50, "RETAIN-REFS", "DELREF")),
        (0, ("XCFGSET", "groups", "RETAIN-BYTES", 10, "GROUP-MAX-IDLE", 10**9, *acked)),
        (0, ("XCFGSET", "shapes", "RETAIN-HARD-BYTES", 1, "RETAIN-REFS", "DELREF")),
    ]
    first.fill([*everything(), *kept])
    until(lambda: (ask("XLEN", "nodes"), ask("XLEN", "shapes")) == (50, 0))
    if form != "snapshot":
        first.rewrite()
        whole: Requests = [
            (0, ("MULTI",)),
            (0, ("XADD", "shapes", "*", "a", "b")),
            (0, ("XCFGSET", "nodes", "RETAIN-LEN", 40)),
            (0, ("EXEC",)),
        ]
        first.fill([*more(), *whole])
        until(lambda: (ask("XLEN", "nodes"), ask("XLEN", "shapes")) == (40, 0))
    files = (first.save() if form == "snapshot" else first.append_only_files(),)
    second = run(heir, *directives, files=files)  # starts without a warning
    again = run("rillway", *directives, files=files)
    assert first.digest() == again.digest()
    for key in ("nodes", "groups", "shapes"):
        assert again.link.ask("XINFO", "POLICY", key)[:2] == ask("XINFO", "POLICY", key)[:2]
    how = {"lag": False, "seen_times": False}
    assert differences(first.view(**how), again.view(**how)) == []
    assert differences(again.view(**how), second.view(**how)) == []


@pytest.mark.parametrize("kind", ["rillway", "redis"])
def test_values_go_there_and_back_with_dump_and_restore(run: Run, kind: str) -> None:
    first, second, third = run(kind), run(the_other(kind)), run(kind)
    first.fill([*everything(), *dangling()])
    for source, target in ((first, second), (second, third)):
        for db, key in source.view():
            for one in (source, target):
                one.link.ask("SELECT", db)
            payload = source.link.ask("DUMP", key)
            expires = max(0, source.link.ask("PEXPIRETIME", key))
            reply = target.link.ask("RESTORE", key, expires, payload, "ABSTTL")
            assert reply == b"OK", (key, reply)
    assert differences(first.view(lag=False), second.view(lag=False)) == []
    assert differences(first.view(), third.view()) == []
    assert first.digest() == third.digest()


# -- functions -----------------------------------------------------------------------------------

LIBRARY = "#!lua name=l\nredis.register_function('f', function() return 1 end)"


@pytest.mark.parametrize("restart", ["snapshot", "append-only file", "dump"])
@pytest.mark.parametrize("kind", ["rillway", "redis"])
def test_libraries_of_functions_go_to_the_other(run: Run, kind: str, restart: str) -> None:
    first = run(kind, *(("--appendonly", "yes") if restart == "append-only file" else ()))
    first.fill([(0, ("FUNCTION", "LOAD", LIBRARY)), (0, ("SET", "k", "v"))])
    if restart == "snapshot":
        second = run(the_other(kind), files=(first.save(),))
    elif restart == "append-only file":
        first.rewrite()
        second = run(the_other(kind), "--appendonly", "yes", files=(first.append_only_files(),))
    else:
        second = run(the_other(kind))
        payload = first.link.ask("FUNCTION", "DUMP")
        assert second.link.ask("FUNCTION", "RESTORE", payload) == b"OK"
    assert second.link.ask("FCALL", "f", 0) == 1
    assert first.link.ask("FUNCTION", "DUMP")[:-10] == second.link.ask("FUNCTION", "DUMP")[:-10]


# -- what only Redis 8 has -----------------------------------------------------------------------

MODERN: Requests = [
    *everything(),
    *dangling(),
    (0, ("XNACK", "groups", "all", "FAIL", "IDS", 3, "60-1", "20-1", "40-1")),
    (0, ("XNACK", "groups", "known", "FATAL", "IDS", 1, "22-1")),
    (0, ("XADD", "sent", "IDMP", "web", "17", "*", "a", "b")),
    (0, ("XADD", "sent", "IDMP", "web", "17", "*", "a", "b")),
    (0, ("XADD", "sent", "IDMPAUTO", "api", "*", "a", "b")),
    (0, ("XCFGSET", "shapes", "IDMP-DURATION", 7, "IDMP-MAXSIZE", 3)),
    (0, ("HSETEX", "hash:small", "PXAT", FAR_MS, "FIELDS", 2, "f", 1, "timed", 2)),
    (0, ("HPEXPIREAT", "hash:small", FAR_MS - 5, "FIELDS", 1, "n0")),
    (0, ("HPEXPIREAT", "hash:many", FAR_MS + 5, "FIELDS", 3, 0, 2, 4)),
]


@pytest.mark.parametrize("restart", ["snapshot", "append-only file", "dump"])
def test_what_redis_8_added_comes_back_to_rillway(run: Run, restart: str) -> None:
    automatic = ("--rdb-stream-type", "auto")
    directives = (*automatic, "--appendonly", "yes") if restart == "append-only file" else automatic
    first = run("rillway", *directives)
    first.fill(MODERN)
    if restart == "dump":
        second = run("rillway", *directives)
        for db, key in first.view():
            for one in (first, second):
                one.link.ask("SELECT", db)
            expires = max(0, first.link.ask("PEXPIRETIME", key))
            payload = first.link.ask("DUMP", key)
            assert second.link.ask("RESTORE", key, expires, payload, "ABSTTL") == b"OK"
    elif restart == "snapshot":
        second = run("rillway", *directives, files=(first.save(),))
    else:
        first.rewrite()
        second = run("rillway", *directives, files=(first.append_only_files(),))
    assert differences(first.view(modern=True), second.view(modern=True)) == []
    assert first.digest() == second.digest()
    times = [
        [one.link.ask("HPEXPIRETIME", key, "FIELDS", 3, *fields)
         for key, fields in (("hash:small", ("f", "n0", "")), ("hash:many", (0, 4, 6)))]
        for one in (first, second)
        if one.link.ask("SELECT", 0) == b"OK"
    ]  # fmt: skip
    assert times[0] == times[1] == [[FAR_MS, FAR_MS - 5, -1], [FAR_MS + 5, FAR_MS + 5, -1]]
    # What is remembered of producers' messages works on, and so does the order of the released.
    second.link.ask("SELECT", 0)
    again = second.link.ask("XADD", "sent", "IDMP", "web", "17", "*", "a", "b")
    assert again == second.link.ask("XRANGE", "sent", "-", "+")[0][0]
    claimed = second.link.ask("XREADGROUP", "GROUP", "all", "zoe", "COUNT", 3, "CLAIM", 0,
                              "STREAMS", "groups", ">")  # fmt: skip
    assert [entry[0] for entry in claimed[0][1]] == [b"60-1", b"20-1", b"40-1"]


def test_redis_7_0_is_not_given_what_it_cannot_read(run: Run) -> None:
    """With rdb-stream-type 19 even what it has no words for goes over as well as it can."""
    first = run("rillway")
    first.fill(MODERN)
    second = run("redis", files=(first.save(),))
    ranges = [
        [one.link.ask("XRANGE", key, "-", "+") for key in ("groups", "sent")]
        for one in (first, second)
        if one.link.ask("SELECT", 0) == b"OK"
    ]
    assert ranges[0] == ranges[1] != []
    hashes = [hash_fields(one.link.ask, b"hash:many") for one in (first, second)]
    assert hashes[0] == hashes[1] != []
    pending = [one.link.ask("XPENDING", "groups", "all")[0] for one in (first, second)]
    assert pending[0] == pending[1] > 0
