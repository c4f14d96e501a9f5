"""Runs of SET: the same result as from the handler, or nothing done."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commands.registry import COMMANDS, Argv
from server.inprocess import InProcessServer
from server.persistence.replay import Replay
from server.persistence.set_runs import find_sets_end, take_set_columns, take_sets
from storage.append_only.reader import Batch
from storage.digest import dataset_digest
from tests.support.replaying import replaying_client

KEYS = st.sampled_from([b"a", b"b", b"c", b"d", b"e", b"stream", b"text", b"mortal"])
SETS = st.lists(st.tuples(KEYS, st.sampled_from([b"", b"1", b"x" * 50])), max_size=30)


def filled_server() -> InProcessServer:
    server = InProcessServer()
    client = server.connect()
    client.execute("SET", "text", "before")
    client.execute("XADD", "stream", "1-1", "f", "v")
    client.execute("SET", "mortal", "before", "PX", "1000")
    return server


def state(server: InProcessServer) -> object:
    db = server.instance.databases[0]
    in_order = db.scan(0, 100)[1]
    ages = {key: value.access_ms for key, value in db.values.items()}
    digest = dataset_digest(server.instance.databases, server.now_ms)
    return in_order, db.expires, ages, digest, server.instance.dirty


@settings(deadline=None)
@given(SETS, st.booleans())
def test_a_replay_gives_what_the_handler_gives_one_by_one(
    pairs: list[tuple[bytes, bytes]], as_columns: bool
) -> None:
    requests: list[Argv] = [[b"SET", key, content] for key, content in pairs]
    replayed, handled = filled_server(), filled_server()
    for server in (replayed, handled):
        server.advance(5)
    columns = [list(column) for column in zip(*requests, strict=True)] if as_columns else None
    Replay(replayed.instance, "file").run(Batch(0, 0, list(requests), columns))
    handler = COMMANDS[b"set"].handler
    assert handler is not None
    for argv in requests:
        handler(replaying_client(handled), list(argv))
    assert state(replayed) == state(handled)


def test_the_last_value_stays_and_all_changes_count() -> None:
    server = InProcessServer()
    run = [[b"SET", key, content] for key, content in ((b"a", b"1"), (b"b", b"2"), (b"a", b"3"))]
    assert take_sets(replaying_client(server), run)
    assert server.connect().execute("MGET", "a", "b") == b"*2\r\n$1\r\n3\r\n$1\r\n2\r\n"
    assert server.instance.dirty == 3


def test_a_key_with_a_time_to_live_is_left_to_the_handler() -> None:
    server = filled_server()
    before = state(server)
    assert not take_sets(replaying_client(server), [[b"SET", b"a", b"1"], [b"SET", b"mortal", b""]])
    assert state(server) == before


@pytest.mark.parametrize(
    "columns", [[[b"SET"] * 2, [b"k"] * 2], [[b"SET", b"GETSET"], [b"k"] * 2, [b"v"] * 2]]
)
def test_columns_of_something_else_are_left_alone(columns: list[list[bytes]]) -> None:
    server = InProcessServer()
    assert not take_set_columns(replaying_client(server), columns)
    assert server.connect().execute("DBSIZE") == b":0\r\n"


@pytest.mark.parametrize("watching", [("WATCH", "a"), ("CLIENT", "TRACKING", "ON", "BCAST")])
def test_where_somebody_is_told_of_each_key_the_handler_sets_it(watching: tuple[str, ...]) -> None:
    server = InProcessServer()
    client = server.connect()
    client.execute("HELLO", "3")
    client.execute(*watching)
    assert not take_sets(replaying_client(server), [[b"SET", b"a", b"1"]] * 5)


@pytest.mark.parametrize(
    "other", [[b"SET", b"k", b"v", b"KEEPTTL"], [b"set", b"k", b"v"], [b"GET", b"k", b"v"]]
)
def test_a_run_ends_where_something_else_begins(other: Argv) -> None:
    assert find_sets_end([[b"SET", b"k", b"v"]] * 5 + [other], 0) == 5
    assert find_sets_end([[b"SET", b"k", b"v"]] * 3 + [other], 0) == 0
    assert find_sets_end([other], 0) == 0
