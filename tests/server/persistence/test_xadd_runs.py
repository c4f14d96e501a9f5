"""Runs of XADD: the same result as from the handler, or nothing done."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commands.registry import COMMANDS, Argv
from commands.streams.add_run import find_run_end
from protocol.errors import ReplyError
from server.inprocess import InProcessServer
from server.persistence.replay import Replay
from server.persistence.xadd_runs import append_run
from storage.append_only.reader import Batch
from storage.digest import dataset_digest
from storage.stream import Stream
from tests.support.replaying import replaying_client

KEYS = st.sampled_from([b"a", b"a", b"a", b"b", b"text"])
NAMES = st.sampled_from([b"f", b"g", b"5-1", b"*5"])
VALUES = st.sampled_from([b"", b"1", b"XADD", b"x" * 70, b"\r\n", b"f"])
# Mostly ascending, since they are made from the position; sometimes not, or not plain.
IDS = st.sampled_from([b"%d-0", b"%d-5", b"%d", b"0%d-1", b"1-1", b"%d-*", b"%d-1\n%d-2"])


@st.composite
def xadds(draw: st.DrawFn) -> list[Argv]:
    """Requests as they may be in a file, most of them plain."""
    requests: list[Argv] = []
    odd_ids = draw(st.booleans())
    for n in range(draw(st.integers(0, 40))):
        id_form = draw(IDS) if odd_ids else b"%d-0"
        entry_id = id_form.replace(b"%d", b"%d" % (n + 2))
        pairs = draw(st.lists(st.tuples(NAMES, VALUES), min_size=1, max_size=2))
        name = draw(st.sampled_from([b"XADD", b"xadd", b"XADD", b"XADD"]))
        requests.append([name, draw(KEYS), entry_id, *[word for pair in pairs for word in pair]])
    return requests


def server_with_a_string() -> InProcessServer:
    server = InProcessServer(stream_node_max_entries="5")
    server.connect().execute("SET", "text", "no stream")
    return server


def run_by_handlers(server: InProcessServer, requests: list[Argv]) -> None:
    client = replaying_client(server)
    for argv in requests:
        command = COMMANDS[argv[0].lower()]
        assert command.handler is not None
        with contextlib.suppress(ReplyError):
            command.handler(client, list(argv))


def state(server: InProcessServer) -> object:
    db = server.instance.databases[0]
    streams = {
        key: (s.length, s.last_id, s.entries_added, s.node_count)
        for key, s in db.values.items()
        if isinstance(s, Stream)
    }
    digest = dataset_digest(server.instance.databases, server.now_ms)
    return list(db.values), streams, digest, server.instance.dirty


@settings(deadline=None)
@given(xadds(), st.booleans())
def test_a_replay_gives_what_the_handlers_give_one_by_one(
    requests: list[Argv], as_columns: bool
) -> None:
    replayed, handled = server_with_a_string(), server_with_a_string()
    columns = None
    if as_columns:
        requests = [argv for argv in requests if len(argv) == 5]
        columns = [list(column) for column in zip(*requests, strict=True)] or None
    Replay(replayed.instance, "file").run(Batch(0, 0, list(requests), columns))
    run_by_handlers(handled, requests)
    assert state(replayed) == state(handled)


def columns_of(*requests: Argv) -> list[tuple[bytes, ...]]:
    return list(zip(*requests, strict=True))


PLAIN: list[Argv] = [[b"XADD", b"s", b"%d-0" % n, b"f", b"v"] for n in (1, 2, 3, 4)]


def test_a_plain_run_makes_the_stream_and_fills_it() -> None:
    server = InProcessServer()
    assert append_run(replaying_client(server), columns_of(*PLAIN))
    stream = server.instance.databases[0].get(b"s")
    assert isinstance(stream, Stream)
    assert stream.length == 4
    assert server.instance.dirty == 4


def test_streams_are_made_in_the_order_in_which_they_come() -> None:
    server = InProcessServer()
    run = [[b"XADD", key, b"1-%d" % n, b"f", b"v"] for n in range(4) for key in (b"b", b"a", b"c")]
    run[0][2] = b"0-1"
    assert append_run(replaying_client(server), columns_of(*run))
    assert list(server.instance.databases[0].keys()) == [b"b", b"a", b"c"]


@pytest.mark.parametrize(
    "odd",
    [
        [b"XADD", b"s", b"4-0", b"f", b"v"],  # not above the one before
        [b"XADD", b"s", b"5", b"f", b"v"],
        [b"XADD", b"s", b"*", b"f", b"v"],
        [b"XADD", b"s", b"05-0", b"f", b"v"],
        [b"XADD", b"s", b"18446744073709551616-0", b"f", b"v"],
        [b"XADD", b"s", b"5-0\n6-0", b"f", b"v"],
        [b"XADD", b"s", b"5-0", b"other", b"v"],
        [b"XADD", b"text", b"5-0", b"f", b"v"],  # that key holds a string
        [b"XDEL", b"s", b"5-0", b"f", b"v"],
        [b"XADD", b"z", b"0-0", b"f", b"v"],
    ],
)
def test_a_run_with_a_request_that_is_not_plain_is_left_alone(odd: Argv) -> None:
    server = server_with_a_string()
    before = state(server)
    assert not append_run(replaying_client(server), columns_of(*PLAIN, odd))
    assert state(server) == before


def test_a_run_for_many_streams_is_none() -> None:
    run = [[b"XADD", b"s%d" % n, b"1-1", b"f", b"v"] for n in range(20)]
    assert not append_run(replaying_client(InProcessServer()), columns_of(*run))


def test_entries_that_may_be_too_large_are_left_to_the_handler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("server.persistence.xadd_runs.MAX_ENTRY_BYTES", 7)
    assert not append_run(replaying_client(InProcessServer()), columns_of(*PLAIN))


def test_a_run_ends_where_the_length_or_the_command_changes() -> None:
    requests = [*PLAIN, [b"XADD", b"s", b"9-0", b"f", b"v", b"g", b"w"], [b"MULTI"], *PLAIN[:2]]
    assert find_run_end(requests, 0) == 4
    assert find_run_end(requests, 4) == 4
    assert find_run_end(requests, 5) == 5
    assert find_run_end(requests, 6) == 6  # too short


def test_a_client_that_waits_for_a_stream_is_served_after_the_run() -> None:
    server = InProcessServer()
    waiting = server.connect()
    assert waiting.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "0") == b""
    assert append_run(replaying_client(server), columns_of(*PLAIN))
    server.tick()
    assert waiting.received().startswith(b"*1\r\n*2\r\n$1\r\ns\r\n*4\r\n")
