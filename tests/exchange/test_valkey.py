"""Data goes from Valkey 9.1 to Rillway and back, and the other way round, unchanged.

Times of fields of hashes included, which Valkey writes in a form of its own. Rillway writes it with
`rdb-stream-type valkey`; without it, what needs no newer form than Redis 7.2 has goes over as well.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.exchange.data_set import FAR_MS, Requests, dangling, everything, hashes, more
from tests.exchange.running import Run, Running
from tests.exchange.views import View, differences

pytestmark = pytest.mark.compat

FOR_VALKEY = ("--rdb-stream-type", "valkey")
DIRECTIVES = {"rillway": FOR_VALKEY, "valkey": ()}
AUTOMATIC = {"rillway": ("--rdb-stream-type", "auto"), "valkey": ()}
LATE_ID = f"{FAR_MS}-1"

TIMED: Requests = [
    (0, ("HPEXPIREAT", "hash:small", FAR_MS - 5, "FIELDS", 1, "n0")),
    (0, ("HSETEX", "hash:small", "PXAT", FAR_MS, "FIELDS", 2, "f", 1, "timed", 2)),
    (0, ("HPEXPIREAT", "hash:many", FAR_MS + 5, "FIELDS", 3, 0, 2, 4)),
    (0, ("HSETEX", "hash:timed", "PXAT", FAR_MS, "FIELDS", 1, "only", "one")),
]
TIMED_LATER: Requests = [
    (0, ("HSETEX", "hash:small", "KEEPTTL", "FIELDS", 1, "f", 7)),
    (0, ("HPERSIST", "hash:many", "FIELDS", 1, 2)),
    (0, ("HGETEX", "hash:small", "PERSIST", "FIELDS", 1, "timed")),
    (0, ("HGETEX", "hash:many", "PXAT", FAR_MS - 9, "FIELDS", 2, 4, 6)),
    (0, ("HEXPIREAT", "hash:long", FAR_MS // 1000, "NX", "FIELDS", 1, "text")),
    (0, ("HSETEX", "hash:new", "EX", 100_000, "FIELDS", 2, "a", 1, "b", 2)),
    (0, ("HSETEX", "hash:new", "FNX", "PX", 100_000_000, "FIELDS", 1, "c", 3)),
    (0, ("HSETEX", "hash:new", "FXX", "PXAT", 1, "FIELDS", 1, "b", 3)),
]


def the_other(kind: str) -> str:
    return "valkey" if kind == "rillway" else "rillway"


def run_one(run: Run, kind: str, *directives: str, files: tuple[Path, ...] = ()) -> Running:
    return run(kind, *DIRECTIVES[kind], *directives, files=files)


def times_of_fields(one: Running) -> View:
    """By key, field and Unix ms."""
    ask, found = one.link.ask, {}
    ask("SELECT", 0)
    for key in sorted(ask("KEYS", "hash*")):
        fields = sorted(ask("HKEYS", key))
        found[key] = dict(
            zip(fields, ask("HPEXPIRETIME", key, "FIELDS", len(fields), *fields), strict=True)
        )
    return found


def assert_same(first: Running, second: Running, **how: bool) -> None:
    assert differences(first.view(**how), second.view(**how)) == []
    assert times_of_fields(first) == times_of_fields(second)


@pytest.mark.parametrize("kind", ["rillway", "valkey"])
def test_a_snapshot_goes_there_and_back(run: Run, kind: str) -> None:
    first = run_one(run, kind)
    first.fill([*everything(), *dangling(), *TIMED])
    assert first.save().read_bytes().startswith(b"VALKEY080")
    second = run_one(run, the_other(kind), files=(first.save(),))
    assert_same(first, second, lag=False)
    third = run_one(run, kind, files=(second.save(),))
    assert_same(first, third)
    assert first.digest() == third.digest()


@pytest.mark.parametrize("preamble", ["yes", "no"])
@pytest.mark.parametrize("kind", ["rillway", "valkey"])
def test_an_append_only_file_goes_there_and_back(run: Run, kind: str, preamble: str) -> None:
    append_only = ("--appendonly", "yes", "--aof-use-rdb-preamble", preamble)
    how = {"seen_times": False}  # requests do not carry them
    first = run_one(run, kind, *append_only)
    first.fill([*everything(), *TIMED])
    first.rewrite()
    first.fill([*more(), *TIMED_LATER])
    files = (first.append_only_files(),)
    again = run_one(run, kind, *append_only, files=files)
    assert_same(first, again, lag=False, **how)
    second = run_one(run, the_other(kind), *append_only, files=files)
    assert_same(again, second, lag=False, **how)
    second.rewrite()
    third = run_one(run, kind, *append_only, files=(second.append_only_files(),))
    assert_same(again, third, lag=False, **how)


@pytest.mark.parametrize("kind", ["rillway", "valkey"])
def test_payloads_go_there_and_back(run: Run, kind: str) -> None:
    first = run_one(run, kind)
    second, third = run_one(run, the_other(kind)), run_one(run, kind)
    first.fill([*everything(), *dangling(), *TIMED])
    for source, target in ((first, second), (second, third)):
        for db, key in source.view():
            for one in (source, target):
                one.link.ask("SELECT", db)
            payload = source.link.ask("DUMP", key)
            expires = max(0, source.link.ask("PEXPIRETIME", key))
            assert target.link.ask("RESTORE", key, expires, payload, "ABSTTL") == b"OK"
    assert_same(first, second, lag=False)
    assert_same(first, third)


LIBRARY = """#!lua name=l
server.register_function('f', function() return server.call('GET', 'k') end)
"""


@pytest.mark.parametrize("way", ["snapshot", "append-only file", "dump"])
@pytest.mark.parametrize("kind", ["rillway", "valkey"])
def test_libraries_of_functions_go_to_the_other(run: Run, kind: str, way: str) -> None:
    append_only = ("--appendonly", "yes") if way == "append-only file" else ()
    first = run_one(run, kind, *append_only)
    first.fill([(0, ("FUNCTION", "LOAD", LIBRARY)), (0, ("SET", "k", "v"))])
    if way == "snapshot":
        second = run_one(run, the_other(kind), files=(first.save(),))
    elif way == "append-only file":
        files = (first.append_only_files(),)
        second = run_one(run, the_other(kind), *append_only, files=files)
    else:
        second = run_one(run, the_other(kind))
        second.fill([(0, ("SET", "k", "v"))])
        payload = first.link.ask("FUNCTION", "DUMP")
        assert second.link.ask("FUNCTION", "RESTORE", payload) == b"OK"
    assert second.link.ask("FCALL", "f", 0) == b"v"


@pytest.mark.parametrize("source", ["rillway", "valkey"])
def test_keys_migrate_with_the_times_of_their_fields(run: Run, source: str) -> None:
    """With the default form on Rillway's side: it finds out what the other server reads."""
    first, second = run(source, *AUTOMATIC[source]), run_one(run, the_other(source))
    first.fill([*everything(), *dangling(), *TIMED])
    for db, key in first.view():  # times to live are sent as a rest, and end later there
        first.fill([(db, ("PERSIST", key))])
    twin = run_one(run, source, files=(first.save(),))
    for db in (0, 5, 15):
        first.link.ask("SELECT", db)
        keys = first.link.ask("KEYS", "*")
        order = ("127.0.0.1", second.server.port, "", db, 30_000, "KEYS", *keys)
        assert first.link.ask("MIGRATE", *order) == b"OK"
        assert first.link.ask("DBSIZE") == 0
    assert_same(twin, second, lag=False)


def test_a_stream_with_released_entries_migrates_to_valkey_without_what_that_does_not_know(
    run: Run,
) -> None:
    first, second = run("rillway", *AUTOMATIC["rillway"]), run("valkey")
    first.fill(
        [
            (0, ("XGROUP", "CREATE", "s", "g", 0, "MKSTREAM")),
            (0, ("XADD", "s", "IDMP", "web", "17", "*", "a", "b")),
            (0, ("XADD", "s", LATE_ID, "c", "d")),
            (0, ("XREADGROUP", "GROUP", "g", "anna", "STREAMS", "s", ">")),
            (0, ("XNACK", "s", "g", "FAIL", "IDS", 1, LATE_ID)),
        ]
    )
    before = first.link.ask("XRANGE", "s", "-", "+")
    order = ("127.0.0.1", second.server.port, "s", 0, 30_000)
    assert first.link.ask("MIGRATE", *order) == b"OK"
    assert second.link.ask("XRANGE", "s", "-", "+") == before
    assert second.link.ask("XPENDING", "s", "g")[0] == 2


def test_what_was_restored_and_sent_on_is_in_a_file_that_valkey_loads(run: Run) -> None:
    append_only = ("--appendonly", "yes")
    first, second = run("valkey"), run("rillway", *AUTOMATIC["rillway"], *append_only)
    first.fill([*hashes(), *TIMED])
    first.link.ask("SELECT", 0)
    for key in first.link.ask("KEYS", "*"):
        expires = max(0, first.link.ask("PEXPIRETIME", key))
        payload = first.link.ask("DUMP", key)
        second.fill([(0, ("RESTORE", key, expires, payload, "ABSTTL"))])
    third = run("valkey", *append_only, files=(second.append_only_files(),))
    assert times_of_fields(third) == times_of_fields(first)
