"""BLPOP, BRPOP, BLMPOP, BLMOVE, BRPOPLPUSH, BLMOVEM."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import NIL, WRONG_TYPE, Conversation
from tests.commands.lists.test_elements import bulks

BLOCKING = [
    "BLPOP k 1",
    "BRPOP k 1",
    "BLMPOP 1 1 k LEFT",
    "BLMOVE k t LEFT LEFT 1",
    "BRPOPLPUSH k t 1",
    "BLMOVEM k t LEFT LEFT 1",
]


def test_what_is_there_is_popped_at_once(talk: Conversation) -> None:
    talk.all("RPUSH b 1 2 3 4 5 6")
    assert talk.do("BLPOP a b 0") == bulks("b 1")
    assert talk.do("BRPOP a b 0") == bulks("b 6")
    assert talk.do("BLMPOP 0 2 a b LEFT COUNT 2") == b"*2\r\n$1\r\nb\r\n" + bulks("2 3")
    assert talk.do("BLMOVE b c RIGHT LEFT 0") == b"$1\r\n5\r\n"
    assert talk.do("BRPOPLPUSH b c 0") == b"$1\r\n4\r\n"
    assert talk.do("BLMOVEM c b LEFT RIGHT 0 COUNT 9 BULK") == bulks("4 5")
    assert talk.propagated() == [
        "LPOP b",
        "RPOP b",
        "LPOP b 2",
        "LMOVE b c RIGHT LEFT",
        "RPOPLPUSH b c",
        "MULTI",
        "RPUSH b 4 5",
        "LPOP c 2",
        "EXEC",
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
def test_in_a_transaction_no_client_waits(talk: Conversation, request_: str) -> None:
    talk.do("MULTI")
    talk.do(request_)
    null = NIL if request_.startswith(("BLMOVE ", "BRPOPLPUSH")) else b"*-1\r\n"
    assert talk.do("EXEC") == b"*1\r\n" + null


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


def test_waiters_are_served_in_turn_after_the_whole_command(talk: Conversation) -> None:
    first, second, third = talk.other(), talk.other(), talk.other()
    first.do("BLPOP k 0")
    second.do("BRPOP other k 0")
    third.do("BLPOP k 0")
    talk.do("LPUSH k a b")
    assert first.received() == bulks("k b")
    assert second.received() == bulks("k a")
    assert third.received() == b""
    talk.do("RPUSH other x")
    assert third.received() == b""
    talk.do("RPUSH k y")
    assert third.received() == bulks("k y")


def test_a_list_that_is_removed_in_its_transaction_serves_no_client(talk: Conversation) -> None:
    waiter = talk.other()
    waiter.do("BLPOP k 0")
    talk.client.pipeline(("MULTI",), ("RPUSH", "k", "a"), ("DEL", "k"), ("EXEC",))
    assert waiter.received() == b""
    talk.client.pipeline(("MULTI",), ("RPUSH", "k", "a"), ("DEL", "k"), ("SET", "k", 1), ("EXEC",))
    assert waiter.received() == b""
    talk.client.pipeline(("DEL", "k"), ("RPUSH", "k", "a"))
    assert waiter.received() == bulks("k a")


def test_a_key_of_another_type_wakes_only_who_waits_for_it(talk: Conversation) -> None:
    popper, reader = talk.other(), talk.other()
    popper.do("BLPOP k 0")
    reader.do("XREAD BLOCK 0 STREAMS k $")
    talk.do("XADD k 1-1 f v")
    assert popper.received() == b"" and reader.received() != b""
    talk.all("DEL k")
    reader.do("XREAD BLOCK 0 STREAMS k $")
    talk.do("RPUSH k a b")
    assert popper.received() == bulks("k a") and reader.received() == b""


def test_two_pushes_of_one_batch_serve_as_two(talk: Conversation) -> None:
    waiter = talk.other()
    waiter.do("BRPOP k 0")
    talk.client.pipeline(("RPUSH", "k", "a"), ("RPUSH", "k", "b"))
    assert waiter.received() == bulks("k a")
    assert talk.do("LRANGE k 0 -1") == bulks("b")


def test_what_is_moved_serves_the_next(talk: Conversation) -> None:
    mover, popper = talk.other(), talk.other()
    popper.do("BLPOP t 0")
    mover.do("BLMOVE k t LEFT LEFT 0")
    talk.do("RPUSH k a")
    assert mover.received() == b"$1\r\na\r\n"
    assert popper.received() == bulks("t a")
    assert talk.propagated() == ["RPUSH k a", "LMOVE k t LEFT LEFT", "LPOP t"]
    assert talk.events() == [
        "new k", "rpush k", "new t", "lpush t", "lpop k", "del k", "lpop t", "del t",
    ]  # fmt: skip


def test_a_waiter_whose_destination_has_another_type_gets_an_error(talk: Conversation) -> None:
    mover = talk.other()
    talk.all("SET t v")
    mover.do("BRPOPLPUSH k t 0")
    talk.do("RPUSH k a")
    assert mover.received() == WRONG_TYPE
    assert talk.do("LLEN k") == b":1\r\n"


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


def test_exactly_as_many_are_waited_for(talk: Conversation) -> None:
    exact, any_ = talk.other(), talk.other()
    exact.do("BLMOVEM k t LEFT RIGHT 0 EXACTLY 3 BULK")
    any_.do("BLMOVEM other t LEFT RIGHT 0 COUNT 3 BULK")
    talk.do("RPUSH k a b")
    assert exact.received() == b""
    talk.do("RPUSH k c")
    assert exact.received() == bulks("a b c")
    talk.do("RPUSH other d")
    assert any_.received() == bulks("d")


def test_exactly_as_many_are_there_after_an_insertion(talk: Conversation) -> None:
    waiter = talk.other()
    talk.all("RPUSH k a")
    waiter.do("BLMOVEM k t LEFT RIGHT 0 EXACTLY 2 OBO")
    talk.do("LINSERT k BEFORE a b")
    assert waiter.received() == bulks("b a")


def test_a_wrong_type_is_found_before_later_keys(talk: Conversation) -> None:
    talk.all("SET text v", "RPUSH l a")
    assert talk.do("BLPOP no text l 0") == WRONG_TYPE
    assert talk.do("BLMPOP 0 2 text l LEFT") == WRONG_TYPE
    assert talk.do("LLEN l") == b":1\r\n"


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


def test_bad_requests_are_refused(talk: Conversation) -> None:
    syntax = b"-ERR syntax error\r\n"
    not_a_float = b"-ERR timeout is not a float or out of range\r\n"
    assert talk.do("BLPOP k x") == talk.do("BLMOVE k t LEFT LEFT x") == not_a_float
    assert talk.do("BLMPOP x 1 k LEFT") == talk.do("BLMOVEM k t LEFT LEFT x") == not_a_float
    assert talk.do("BLMPOP x 1 k UP") == syntax  # the timeout is read last
    assert talk.do("BRPOPLPUSH k t -1") == b"-ERR timeout is negative\r\n"
    assert talk.do("BLMOVE k t LEFT UP 0") == talk.do("BLMPOP 0 1 k UP") == syntax
    assert talk.do("BLMOVEM k t LEFT LEFT 0 COUNT 1") == syntax
