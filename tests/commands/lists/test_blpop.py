"""BLPOP, BRPOP, BLMPOP, BLMOVE, BRPOPLPUSH, BLMOVEM."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import Conversation
from tests.commands.lists.test_elements import bulks

BLOCKING = [
    "BLPOP k 1",
    "BRPOP k 1",
    "BLMPOP 1 1 k LEFT",
    "BLMOVE k t LEFT LEFT 1",
    "BRPOPLPUSH k t 1",
    "BLMOVEM k t LEFT LEFT 1",
]


@pytest.mark.parametrize("request_", BLOCKING)
def test_a_client_that_finds_nothing_waits_until_the_timeout(
    talk: Conversation, request_: str
) -> None:
    assert talk.do(request_) == b""
    talk.server.advance(999)
    assert talk.received() == b""
    talk.server.advance(1)
    assert talk.received() == b"*-1\r\n"
    talk.do("HELLO 3")
    assert talk.do(request_) == b""
    talk.server.advance(1000)
    assert talk.received() == b"_\r\n"


@pytest.mark.parametrize("request_", BLOCKING)
def test_who_waits_is_served_by_a_push(talk: Conversation, request_: str) -> None:
    waiter = talk.other()
    assert waiter.do(request_) == b""
    assert talk.do("RPUSH k a") == b":1\r\n"
    assert b"$1\r\na\r\n" in waiter.received()
    assert talk.do("EXISTS k") == b":0\r\n"
    propagated = talk.propagated()
    if request_.startswith("BLMOVEM"):
        assert propagated == ["RPUSH k a", "MULTI", "LPUSH t a", "LPOP k 1", "EXEC"]
        return
    pushed, popped = propagated
    assert pushed == "RPUSH k a"
    assert popped.startswith(("LPOP k", "RPOP k", "LMOVE", "RPOPLPUSH k t"))


def test_a_list_that_is_removed_in_its_transaction_serves_no_client(talk: Conversation) -> None:
    waiter = talk.other()
    waiter.do("BLPOP k 0")
    talk.client.pipeline(("MULTI",), ("RPUSH", "k", "a"), ("DEL", "k"), ("EXEC",))
    assert waiter.received() == b""
    talk.client.pipeline(("MULTI",), ("RPUSH", "k", "a"), ("DEL", "k"), ("SET", "k", 1), ("EXEC",))
    assert waiter.received() == b""
    talk.client.pipeline(("DEL", "k"), ("RPUSH", "k", "a"))
    assert waiter.received() == bulks("k a")


def test_two_pushes_of_one_batch_serve_as_two(talk: Conversation) -> None:
    waiter = talk.other()
    waiter.do("BRPOP k 0")
    talk.client.pipeline(("RPUSH", "k", "a"), ("RPUSH", "k", "b"))
    assert waiter.received() == bulks("k a")
    assert talk.do("LRANGE k 0 -1") == bulks("b")


@pytest.mark.parametrize("request_", ["RENAME from k", "COPY from k", "MOVE k 1"])
def test_a_list_may_come_from_elsewhere(talk: Conversation, request_: str) -> None:
    waiter = talk.other()
    if request_.startswith("MOVE"):
        waiter.do("SELECT 1")
        talk.all("RPUSH k a")
    else:
        talk.all("RPUSH from a")
    waiter.do("BLPOP k 0")
    talk.do(request_)
    assert waiter.received() == bulks("k a")


def test_a_client_that_has_left_takes_nothing_along(talk: Conversation) -> None:
    gone, next_ = talk.other(), talk.other()
    gone.do("BLPOP k 0")
    next_.do("BLPOP k 0")
    gone.client.is_gone = True
    talk.do("RPUSH k a")
    assert next_.received() == bulks("k a")
    assert gone.client.closed


def test_client_unblock_ends_a_wait(talk: Conversation) -> None:
    waiter = talk.other()
    number = waiter.do("CLIENT ID")[1:-2].decode()
    waiter.do("BLPOP k 0")
    assert talk.do(f"CLIENT UNBLOCK {number}") == b":1\r\n"
    assert waiter.received() == b"*-1\r\n"
    waiter.do("BLMOVE k t LEFT LEFT 0")
    talk.do(f"CLIENT UNBLOCK {number} ERROR")
    assert waiter.received() == b"-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n"
