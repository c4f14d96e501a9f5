"""commands/streams/add_each.py: pipelines to several streams do what single requests do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands.streams.add_each import is_plain
from commands.streams.add_run import find_run_end
from server.inprocess import InProcessServer
from storage.entry_id import MAX_SEQ

Request = tuple[bytes, ...]


@pytest.mark.parametrize(
    ("request_line", "expected"),
    [
        (b"XADD s * f v", True),
        (b"xadd s * f v g w", True),
        (b"XADD s * f", False),
        (b"XADD s * f v g", False),
        (b"XADD s 1-1 f v", False),
        (b"XADD s NOMKSTREAM * f v", False),
        (b"XDEL s * 1 2", False),
    ],
)
def test_the_plain_form_has_an_id_of_the_server_and_no_options(
    request_line: bytes, expected: bool
) -> None:
    assert is_plain(request_line.split()) is expected


def small_nodes(entries: str) -> InProcessServer:
    return InProcessServer(stream_node_max_entries=entries, stream_node_max_bytes="512")


def test_pipelines_to_several_streams_and_of_several_shapes_are_taken_at_once() -> None:
    server = InProcessServer()
    client = server.connect()
    for key in ("s", "t", "u"):
        client.execute("XADD", key, "1-1", "f", "v")
    server.propagated.clear()
    batch = [(b"XADD", b"stu"[n % 3 : n % 3 + 1], b"*", b"f", b"%d" % n) for n in range(9)]
    shapes = [(b"XADD", b"s", b"*", *[b"f", b"%d" % n] * (1 + n % 3)) for n in range(9)]
    for requests in (batch, shapes):
        run = [list(request) for request in requests]
        assert find_run_end(run, 0) == 9
        assert server.dispatcher.execute_run(client.state, run)
    assert len(server.propagated) == 18
    assert [unit[0][1] for _, unit in server.propagated[:4]] == [b"s", b"t", b"u", b"s"]


@given(
    requests=st.lists(
        st.builds(
            lambda key, fields: (b"XADD", key, b"*", *fields),
            st.sampled_from([b"s", b"t", b"u", b"new", b"string", b"full", b"old"]),
            st.sampled_from([(b"f", b"v"), (b"g", b"12"), (b"f", b"1", b"g", b"2"), (b"f",)]),
        ),
        min_size=4,
        max_size=20,
    ),
    node_entries=st.sampled_from(["0", "3", "100"]),
)
def test_what_goes_to_several_streams_is_that_of_single_requests(
    requests: list[Request], node_entries: str
) -> None:
    together, alone = small_nodes(node_entries), small_nodes(node_entries)
    at_once, one_by_one = together.connect(), alone.connect()
    for client in (at_once, one_by_one):
        for key in ("s", "t", "old"):
            client.execute("XADD", key, "1-1", "f", "v")
        client.execute("XADD", "u", f"{client.server.now_ms + 5}-7", "g", "v")
        client.execute("XADD", "full", f"{MAX_SEQ}-{MAX_SEQ - 1}", "f", "v")
        client.execute("SET", "string", "v")
        client.execute("PEXPIRE", "old", "5")
        client.server.advance(0)
        client.server.now_ms += 6  # `old` has expired, and nobody has looked yet
    replies = b"".join(one_by_one.execute(*words) for words in requests)
    assert at_once.pipeline(*requests) == replies
    keys = ("s", "t", "u", "new", "full", "old")
    for key in keys:
        words = ("XINFO", "STREAM", key, "FULL")
        assert at_once.execute(*words) == one_by_one.execute(*words)
    assert sorted_by_key(together) == sorted_by_key(alone)
    assert together.instance.dirty == alone.instance.dirty


def sorted_by_key(server: InProcessServer) -> dict[bytes, list[list[bytes]]]:
    """What was propagated for each key, in order."""
    found: dict[bytes, list[list[bytes]]] = {}
    for _, unit in server.propagated:
        for request in unit:
            found.setdefault(request[1] if len(request) > 1 else b"", []).append(request)
    return found
