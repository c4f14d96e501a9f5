"""A key that is set together with what it counts, or not at all."""

from __future__ import annotations

import pytest

from rillway.pipeline.client.connection import Connection, ServerError, pack
from rillway.pipeline.client.watched_key import WatchedKey

pytestmark = pytest.mark.integration

ADD = pack("XADD", "s", "*", "a", "b")


def test_the_value_and_the_writes_are_there_together(link: Connection) -> None:
    key = WatchedKey(link, "k", expiry=("EX", 100), looks=[("XLEN", "s"), ("NOSUCH",)])
    assert key.seen[0] == 0
    assert isinstance(key.seen[1], ServerError)
    for number in (1, 2):
        value = b"%d" % number
        replies = key.transact([ADD, pack("PING")], 2, value)
        assert replies is not None and replies[1] == b"PONG"
        found, seen = key.look()
        assert (key.value, found, seen[0]) == (value, value, number)
    assert link.call("TTL", "k") > 0
    key.set_back(b"1")
    assert link.call("GET", "k") == b"1"
    key.set_back(None)
    assert link.call("EXISTS", "k") == 0


@pytest.mark.parametrize("changed", ["k", "s"])
def test_nothing_is_done_if_another_client_has_changed_a_key(
    link: Connection, changed: str
) -> None:
    key = WatchedKey(link, "k", others=["s"])
    with Connection(link.url) as other:
        other.call(*(("SET", "k", "x") if changed == "k" else ("XADD", "s", "1-0", "a", "b")))
    before = link.call("XLEN", "s")
    assert key.transact([ADD], 1, b"1") is None
    assert key.look()[0] == (b"x" if changed == "k" else None)
    assert link.call("XLEN", "s") == before


def test_a_transaction_that_the_server_refuses_says_why(link: Connection) -> None:
    key = WatchedKey(link, "k")
    with pytest.raises(ServerError, match="unknown command"):
        key.transact([ADD, pack("NOSUCH")], 2, b"1")
    assert key.look()[0] is None
    assert link.call("EXISTS", "s") == 0
