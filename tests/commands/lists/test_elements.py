"""commands/lists/elements.py: the events of pushes and pops.

LLEN, LINDEX, LRANGE, LPOS.

LSET, LINSERT, LREM, LTRIM.

LPUSH, RPUSH, LPUSHX, RPUSHX.

LPOP, RPOP, LMPOP.

LMOVE, RPOPLPUSH, LMOVEM.
"""

from __future__ import annotations

import pytest

from commands.lists.elements import LEFT, RIGHT, parse_side
from protocol.errors import ReplyError
from tests.commands.keys.conversation import (
    NOT_AN_INTEGER,
    OK,
    WRONG_TYPE,
    Conversation,
)


def test_a_side_may_be_in_any_case() -> None:
    assert (parse_side(b"left"), parse_side(b"Right")) == (LEFT, RIGHT)
    with pytest.raises(ReplyError):
        parse_side(b"middle")


def test_every_element_counts_as_a_change(talk: Conversation) -> None:
    before = talk.server.instance.dirty
    talk.do("RPUSH k a b c")
    assert talk.server.instance.dirty == before + 3
    talk.do("RPOP k 2")
    assert talk.server.instance.dirty == before + 5


def test_watched_lists_fail_transactions(talk: Conversation) -> None:
    talk.all("RPUSH k a")
    for request in ("RPUSH k b", "LPOP k", "LSET k 0 z", "LTRIM k 0 -1"):
        talk.do("WATCH k")
        talk.other().do(request)
        talk.do("MULTI")
        talk.do("PING")
        assert talk.do("EXEC") == b"*-1\r\n", request


def bulks(words: str) -> bytes:
    parts = words.split()
    return b"*%d\r\n" % len(parts) + b"".join(
        b"$%d\r\n%b\r\n" % (len(p), p.encode()) for p in parts
    )


@pytest.fixture
def filled(talk: Conversation) -> Conversation:
    talk.all("RPUSH l a b c a b c", "SET text v")
    return talk


def test_a_long_range_is_of_the_moment_at_which_it_was_asked_for(talk: Conversation) -> None:
    words = " ".join(f"element-{number}" for number in range(6000))
    talk.all(f"RPUSH l {words}")
    assert talk.do("LRANGE l 0 -1") == bulks(words)
    talk.all("MULTI")
    talk.do("LRANGE l 0 -1")
    talk.do("DEL l")
    assert talk.do("EXEC") == b"*2\r\n" + bulks(words) + b":1\r\n"


def content(talk: Conversation) -> bytes:
    return talk.do("LRANGE l 0 -1")


@pytest.mark.parametrize(
    ("words", "reply", "expected"),
    [
        ("l 1 -2", OK, "b c a b"),
        ("l -2 -1", OK, "b c"),
        ("l 0 -1", OK, "a b c a b c"),
        ("l 4 1", OK, ""),
        ("l 10 20", OK, ""),
        ("no 1 2", OK, "a b c a b c"),
        ("l x 1", NOT_AN_INTEGER, "a b c a b c"),
        ("text 0 1", WRONG_TYPE, "a b c a b c"),
    ],
)
def test_what_is_outside_a_range_is_removed(
    filled: Conversation, words: str, reply: bytes, expected: str
) -> None:
    assert filled.do(f"LTRIM {words}") == reply
    touched = reply == OK and words.startswith("l")
    events = ["ltrim l", *([] if expected else ["del l"])] if touched else []
    assert filled.events() == events
    assert filled.propagated() == (
        [f"LTRIM {words}"] if touched and len(expected.split()) < 6 else []
    )
    assert content(filled) == bulks(expected)


@pytest.mark.parametrize("form", ["LINSERT l BEFORE none", "LSET l 100"])
def test_a_large_element_without_a_place_changes_the_encoding(
    filled: Conversation, form: str
) -> None:
    for size, encoding in ((100, "listpack"), (300, "listpack"), (9000, "quicklist")):
        # In a transaction: alone, it would look like a lost write. Redis propagates none either.
        for request in ("MULTI", f"{form} {'x' * size}", "EXEC"):
            filled.do(request)
        assert filled.do("OBJECT ENCODING l") == bulks(encoding).partition(b"\r\n")[2], size
    assert content(filled) == bulks("a b c a b c")


def test_as_many_as_can_be_counted_are_removed(filled: Conversation) -> None:
    least = -(2**63)
    error = b"-ERR value is out of range, value must between %d and %d\r\n" % (least + 1, 2**63 - 1)
    for key in ("l", "no", "text"):
        assert filled.do(f"LREM {key} {least} a") == error
    assert filled.do(f"LREM l {least + 1} a") == b":2\r\n"
    assert content(filled) == bulks("b c b c")


def test_much_that_was_trimmed_is_freed_later(talk: Conversation) -> None:
    talk.server.instance.config.list_max_listpack_size = 5
    words = " ".join(map(str, range(30_000)))
    talk.all(f"RPUSH l {words}")
    client = talk.client
    client.send(b"*4\r\n$5\r\nLTRIM\r\n$1\r\nl\r\n$1\r\n0\r\n$1\r\n1\r\n")
    assert len(talk.server.instance.background_work) == 1
    while talk.server.instance.background_work:
        talk.server.tick()


@pytest.mark.parametrize("name", ["LPUSHX", "RPUSHX"])
def test_what_wants_a_list_creates_none(talk: Conversation, name: str) -> None:
    assert talk.do(f"{name} k a") == b":0\r\n"
    assert len(talk.server.instance.databases[0]) == 0
    assert (talk.events(), talk.propagated()) == ([], [])
    talk.all("RPUSH k a")
    assert talk.do(f"{name} k b c") == b":3\r\n"
    assert talk.events() == [f"{name[:5].lower()} k"]


NOT_POSITIVE = b"-ERR value is out of range, must be positive\r\n"


@pytest.mark.parametrize("count", ["-1", "x", "1.5", ""])
def test_a_count_must_be_a_number(talk: Conversation, count: str) -> None:
    talk.all("SET k v")
    assert talk.do(f"LPOP k '{count}'") == NOT_POSITIVE
    assert talk.do("LPOP k 1") == WRONG_TYPE
    assert talk.do("LPOP k 1 2") == b"-ERR wrong number of arguments for 'lpop' command\r\n"


@pytest.mark.parametrize(
    ("words", "moved", "source", "target"),
    [
        ("LEFT LEFT", "1", "2 3 4", "1 x"),
        ("LEFT LEFT COUNT 2 OBO", "2 1", "3 4", "2 1 x"),
        ("LEFT LEFT COUNT 2 BULK", "1 2", "3 4", "1 2 x"),
        ("LEFT RIGHT COUNT 2 OBO", "1 2", "3 4", "x 1 2"),
        ("LEFT RIGHT COUNT 2 BULK", "1 2", "3 4", "x 1 2"),
        ("RIGHT LEFT COUNT 2 OBO", "3 4", "1 2", "3 4 x"),
        ("RIGHT LEFT COUNT 2 BULK", "3 4", "1 2", "3 4 x"),
        ("RIGHT RIGHT COUNT 2 OBO", "4 3", "1 2", "x 4 3"),
        ("RIGHT RIGHT COUNT 2 BULK", "3 4", "1 2", "x 3 4"),
        ("LEFT RIGHT COUNT 9 OBO", "1 2 3 4", "", "x 1 2 3 4"),
        ("LEFT RIGHT EXACTLY 4 BULK", "1 2 3 4", "", "x 1 2 3 4"),
        ("LEFT RIGHT EXACTLY 5 BULK", None, "1 2 3 4", "x"),
    ],
)
def test_several_elements_are_moved(
    talk: Conversation, words: str, moved: str | None, source: str, target: str
) -> None:
    talk.all("RPUSH s 1 2 3 4", "RPUSH t x")
    assert talk.do(f"LMOVEM s t {words}") == (b"*-1\r\n" if moved is None else bulks(moved))
    assert talk.do("LRANGE s 0 -1") == bulks(source)
    assert talk.do("LRANGE t 0 -1") == bulks(target)
    if moved is None:
        assert talk.propagated() == []
        return
    count, sides = len(moved.split()), words.split()
    _, pushed, popped, _ = talk.propagated()
    elements = moved if sides[1] == "RIGHT" else " ".join(reversed(moved.split()))
    assert pushed == f"{sides[1][0]}PUSH t {elements}"
    assert popped == f"{sides[0][0]}POP s {count}"
