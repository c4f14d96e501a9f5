"""A key that is set together with what it counts, or not at all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rillway.pipeline.wire.connection import Connection, Reply, ServerError, pack
from rillway.pipeline.wire.watched_key import WatchedKey

pytestmark = pytest.mark.integration

ADD = pack("XADD", "s", "*", "a", "b")


class Changed(Exception):
    """Another client was there."""


def test_the_value_and_the_writes_are_there_together(link: Connection) -> None:
    found: list[list[Reply]] = []
    looks = [("XLEN", "s"), ("NOSUCH",)]
    key = WatchedKey(link, "k", Changed(), expiry=("EX", 100), reads=looks, seen=found.append)
    assert found[0][0] == 0
    assert isinstance(found[0][1], ServerError)
    for number in (1, 2):
        value = b"%d" % number
        replies = key.transact([ADD, pack("PING")], 2, value)
        assert replies[1] == b"PONG"
        key.catch_up()
        assert (key.value, found[-1][0], len(found)) == (value, number, number + 1)
    assert link.call("TTL", "k") > 0
    key.set_back(b"1")
    assert link.call("GET", "k") == b"1"
    key.set_back(None)
    assert link.call("EXISTS", "k") == 0
    key.close()
    assert link.call("PING") == b"PONG"


@pytest.mark.parametrize("changed", ["k", "s"])
def test_nothing_is_done_if_another_client_has_changed_a_key(
    link: Connection, changed: str
) -> None:
    key = WatchedKey(link, "k", Changed(), others=["s"])
    with Connection(link.url) as other:
        other.call(*(("SET", "k", "x") if changed == "k" else ("XADD", "s", "1-0", "a", "b")))
    with Connection(link.url) as third:
        before = third.call("XLEN", "s")
        with pytest.raises(Changed):
            key.transact([ADD], 1, b"1")
        assert third.call("XLEN", "s") == before


def test_a_change_between_transaction_and_look_is_seen(link: Connection) -> None:
    key = WatchedKey(link, "k", Changed())
    key.transact([pack("APPEND", "k", "x")], 1, b"1")
    key.catch_up()
    # What the transaction itself does to the key before it is set is not.
    assert key.value == b"1"
    with Connection(link.url) as other:
        other.call("SET", "k", "y")
    with pytest.raises(Changed):
        key.transact([ADD], 1, b"2")


def test_a_transaction_that_the_server_refuses_says_why(link: Connection) -> None:
    key = WatchedKey(link, "k", Changed())
    with pytest.raises(ServerError, match="unknown command"):
        key.transact([ADD, pack("NOSUCH")], 2, b"1")
    key.catch_up()
    assert link.call("EXISTS", "s", "k") == 0


class OfTwo(Connection):
    """Two connections to one server, as if to nodes of a cluster between which a slot moves."""

    def slot(self, key: str) -> int | None:
        return 1

    def redirected(self, key: str, error: ServerError, began: float) -> Connection:
        assert error.code == "ERR" and "unknown command" in str(error)
        self.changes += 1
        return self


def test_where_the_slot_has_moved_the_key_must_be_as_it_was(link: Connection) -> None:
    """The writes are refused at first, as on a node that has the slot no more."""
    writes = [pack("NOSUCH")]
    with OfTwo(link.url) as nodes:
        key = WatchedKey(nodes, "k", Changed(), seen=lambda _: None)
        key.transact([ADD], 1, b"1")

        class Moved(list[bytes]):
            def __iter__(self) -> Iterator[bytes]:
                return iter([ADD] if nodes.changes else writes)

        assert len(key.transact(Moved(), 1, b"2")) == 1
        assert (nodes.changes, link.call("GET", "k"), link.call("XLEN", "s")) == (1, b"2", 2)
        nodes.changes = 0

        class MovedAndChanged(Moved):
            def __iter__(self) -> Iterator[bytes]:
                link.call("SET", "k", "x")
                return super().__iter__()

        with pytest.raises(Changed):
            key.transact(MovedAndChanged(), 1, b"3")
        assert link.call("XLEN", "s") == 2
