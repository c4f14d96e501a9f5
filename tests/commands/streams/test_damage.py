"""commands/streams/lookup.py: requests that meet a damaged node of a stream."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessServer
from server.persistence.loading.loader import LoadFailed
from storage.nodes.listpack_node import ListpackNode, listpack_data
from storage.stream import Stream
from tests.commands.streams.talk import Talk
from tests.commands.streams.test_trim import pack


@pytest.fixture
def server() -> InProcessServer:
    """Twelve entries in three nodes, all pending for consumer a; the second node is damaged."""
    server = InProcessServer(stream_node_max_entries="4", enable_debug_command="yes")
    client = Talk(server)
    client.all(*(f"XADD s {n}-1 f v{n}" for n in range(1, 13)))
    client.all("XGROUP CREATE s g 0", "XREADGROUP GROUP g a STREAMS s >", "XGROUP CREATE s new 0")
    damage(server)
    return server


def damage(server: InProcessServer) -> Stream:
    """Damage the second node of the stream at s."""
    stream = pack(server)
    node = list(stream.iter_nodes())[1]
    assert isinstance(node, ListpackNode)
    data = listpack_data(node.listpack)
    node.listpack = data[:30] + b"\xff" + data[31:]
    return stream


def damage_lines(server: InProcessServer) -> list[str]:
    return [text for _, text in server.log_lines if "amage" in text]


@pytest.mark.parametrize(
    "request_",
    [
        "XRANGE s - +",
        "XREVRANGE s + - COUNT 9",
        "XREAD STREAMS s 4-1",
        "XREADGROUP GROUP new b STREAMS s >",
        "XREADGROUP GROUP g a STREAMS s 0",
        "XDEL s 1-1 6-1",
        "XDELEX s IDS 2 1-1 6-1",
        "XACKDEL s g IDS 2 1-1 6-1",
        "XCLAIM s g b 0 1-1 6-1",
        "XAUTOCLAIM s g b 0 0",
        "DEBUG DIGEST-VALUE s",
        "EVAL return{redis.call('XRANGE','s','-','+')} 1 s",
    ],
)
def test_the_error_names_the_key_and_nothing_changes(
    client: Talk, propagated: list[str], request_: str
) -> None:
    before = client.do("XPENDING s g"), client.do("XLEN s")
    error = client.error(request_)
    assert error.startswith("ERR stream 's' is damaged: entries 5-1 to 9-0 were damaged"), error
    assert (client.do("XPENDING s g"), client.do("XLEN s")) == before
    assert set(propagated) <= {"XGROUP CREATECONSUMER s g b", "MULTI", "EXEC"}
    (line,) = damage_lines(client.server)
    assert line.startswith("Damage in stream 's' of database 0: entries 5-1 to 9-0")
    assert "Traceback" not in line
    client.error(request_)
    assert len(damage_lines(client.server)) == 1  # each node once


def test_a_transaction_answers_the_damage_in_its_place(client: Talk) -> None:
    client.all("MULTI", "XLEN s", "XRANGE s - +", "PING")
    replies = client.do("EXEC")
    assert (replies[0], replies[2]) == (12, b"PONG")
    assert "stream 's' is damaged" in str(replies[1])


@pytest.mark.parametrize(
    ("request_", "left"),
    [
        ("XTRIM s MAXLEN 6", [5, 13]),
        ("XTRIM s MINID 7-1", [5, 13]),
        ("XTRIM s MINID ~ 7-1", [5, 13]),
        ("XADD s MAXLEN 7 13-1 f v", [5, 14]),
        ("XADD s MAXLEN = 7 NOMKSTREAM 13-1 f v", [5, 14]),
        ("XADD s MINID 7-1 13-1 f v", [5, 14]),
        ("XTRIM s MAXLEN 3", [10, 13]),
    ],
)
def test_a_trim_does_not_cut_a_damaged_node_but_drops_it_whole(
    client: Talk, propagated: list[str], request_: str, left: list[int]
) -> None:
    twin = Talk(InProcessServer(stream_node_max_entries="4"))
    twin.all(*(f"XADD s {n}-1 f v{n}" for n in range(1, 13)))
    client.do(request_)
    twin.replay(*propagated)
    assert client.do("XLEN s") == twin.do("XLEN s") == left[1] - left[0]
    assert twin.ids("s") == [f"{n}-1" for n in range(*left)]


def test_damage_that_no_key_of_the_request_has_is_searched_for(client: Talk) -> None:
    client.all("SELECT 3", "XADD other 5-1 f v")
    assert "stream 's' is damaged" in client.error("DEBUG DIGEST")


def test_a_rewrite_as_requests_fails_and_the_log_names_the_key(client: Talk) -> None:
    client.do("CONFIG SET aof-use-rdb-preamble no")
    client.do("BGREWRITEAOF")
    client.server.advance(100)
    (line,) = (text for _, text in client.server.log_lines if "terminated with error" in text)
    assert "stream 's' of database 0 is damaged: entries 5-1 to 9-0 were damaged" in line
    assert "Traceback" not in line
    client.do("CONFIG SET aof-use-rdb-preamble yes")
    client.do("BGREWRITEAOF")  # copies what it does not read
    client.server.advance(100)
    assert "aof_last_bgrewrite_status:ok" in client.do("INFO persistence").decode()


def test_a_blocked_reader_is_answered_the_damage(client: Talk) -> None:
    waiting = Talk(client.server)
    assert waiting.raw("XREADGROUP GROUP g b BLOCK 0 STREAMS s >") == b""
    client.do("XGROUP SETID s g 4-1")
    client.do("XADD s 13-1 f v")
    assert b"stream 's' is damaged" in waiting.client.received()


def test_a_server_that_sanitizes_does_not_load_a_damaged_file(
    server: InProcessServer, client: Talk
) -> None:
    client.do("SAVE")
    assert client.server.restart().connect().execute("XLEN", "s") == b":12\r\n"
    with pytest.raises(LoadFailed, match="entries 5-1 to 9-0 were damaged"):
        InProcessServer.on_files(server.files.kill(), sanitize_dump_payload="yes")
