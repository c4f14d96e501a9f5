"""Which requests wait while MIGRATE sends the key `a`."""

from __future__ import annotations

import pytest

from commands.core.gates import GATE_MIGRATING
from commands.keys.moving_keys import MovingKeys
from server.inprocess.server import InProcessServer
from tests.commands.streams.talk import NOW_MS, Talk


@pytest.fixture
def client() -> Talk:
    talk = Talk(InProcessServer(now_ms=NOW_MS))
    talk.all("SET a 1", "SET b 2")
    instance = talk.server.instance
    instance.feature(MovingKeys).names.add(b"a")
    instance.set_gate(GATE_MIGRATING, is_shut=True)
    return talk


@pytest.mark.parametrize(
    "request_text",
    [
        "GET a",
        "MGET a b",
        "SET b 3",
        "COPY b c",
        "XADD b:s * f v",
        "PUBLISH a message",
        "EVAL_RO return{redis.call('get','a')} 0",
    ],
)
def test_reads_and_writes_to_others_do_not_wait(client: Talk, request_text: str) -> None:
    assert client.raw(request_text) != b""


@pytest.mark.parametrize(
    "request_text",
    [
        "SET a 3",
        "DEL b a",
        "RENAME b a",
        "COPY b a REPLACE",
        "SORT b STORE a",
        "FLUSHALL",
        "SWAPDB 0 1",
        "EVAL return{redis.call('set','b','1')} 1 b",
        "MIGRATE host 1 a 0 1",
        "XREADGROUP GROUP g c STREAMS a >",
    ],
)
def test_what_may_write_the_key_waits(client: Talk, request_text: str) -> None:
    assert client.raw(request_text) == b""
    instance = client.server.instance
    assert client.client.state.postponed is not None
    instance.feature(MovingKeys).names.clear()
    instance.set_gate(GATE_MIGRATING, is_shut=False)


def test_a_transaction_waits_if_one_of_its_requests_would(client: Talk) -> None:
    client.all("MULTI", "SET b 3", "GET a")
    assert client.do("EXEC") == [b"OK", b"1"]
    client.do("MULTI")
    assert client.raw("SET a 3") == b""
