"""LMOVE, RPOPLPUSH, LMOVEM."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import NIL, SYNTAX_ERROR, WRONG_TYPE, Conversation
from tests.commands.lists.test_elements import bulks


@pytest.mark.parametrize(
    ("sides", "moved", "source", "target"),
    [
        ("LEFT LEFT", "a", "b c", "a x y"),
        ("LEFT RIGHT", "a", "b c", "x y a"),
        ("right left", "c", "a b", "c x y"),
        ("RIGHT RIGHT", "c", "a b", "x y c"),
    ],
)
def test_an_element_goes_from_end_to_end(
    talk: Conversation, sides: str, moved: str, source: str, target: str
) -> None:
    talk.all("RPUSH s a b c", "RPUSH t x y")
    assert talk.do(f"LMOVE s t {sides}") == b"$1\r\n%b\r\n" % moved.encode()
    assert talk.do("LRANGE s 0 -1") == bulks(source)
    assert talk.do("LRANGE t 0 -1") == bulks(target)
    assert talk.propagated() == [f"LMOVE s t {sides}"]


def test_the_push_is_announced_before_the_pop(talk: Conversation) -> None:
    talk.all("RPUSH s a")
    talk.do("RPOPLPUSH s t")
    assert talk.events() == ["new t", "lpush t", "rpop s", "del s"]
    assert talk.propagated() == ["RPOPLPUSH s t"]
    talk.do("LMOVE t t LEFT RIGHT")
    assert talk.events() == ["rpush t", "lpop t"]
    assert talk.do("LRANGE t 0 -1") == bulks("a")


def test_a_list_turns_round(talk: Conversation) -> None:
    talk.all("RPUSH s a b c")
    assert talk.do("RPOPLPUSH s s") == b"$1\r\nc\r\n"
    assert talk.do("LRANGE s 0 -1") == bulks("c a b")


def test_nothing_is_taken_where_it_cannot_be_put(talk: Conversation) -> None:
    talk.all("RPUSH s a", "SET text v")
    assert talk.do("LMOVE s text LEFT LEFT") == talk.do("RPOPLPUSH s text") == WRONG_TYPE
    assert talk.do("LMOVE text s LEFT LEFT") == WRONG_TYPE
    assert talk.do("LMOVE no text LEFT LEFT") == talk.do("RPOPLPUSH no text") == NIL
    assert talk.do("LMOVE s t LEFT UP") == SYNTAX_ERROR
    assert talk.do("LLEN s") == b":1\r\n"
    assert (talk.events(), talk.propagated()) == ([], [])


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


def test_several_elements_move_within_a_list(talk: Conversation) -> None:
    talk.all("RPUSH s 1 2 3")
    assert talk.do("LMOVEM s s LEFT RIGHT COUNT 2 OBO") == bulks("1 2")
    assert talk.do("LRANGE s 0 -1") == bulks("3 1 2")
    assert talk.do("LMOVEM s s LEFT LEFT COUNT 9 OBO") == bulks("2 1 3")
    assert talk.do("LRANGE s 0 -1") == bulks("2 1 3")


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        ("no t LEFT LEFT", b"*0\r\n"),
        ("no t LEFT LEFT COUNT 1 OBO", b"*0\r\n"),
        ("no t LEFT LEFT EXACTLY 1 OBO", b"*-1\r\n"),
        ("s t LEFT LEFT COUNT 1", SYNTAX_ERROR),
        ("s t LEFT LEFT OBO", SYNTAX_ERROR),
        ("s t LEFT LEFT FOO 1 OBO", SYNTAX_ERROR),
        ("s t LEFT LEFT COUNT 1 OBO BULK", SYNTAX_ERROR),
        ("s t LEFT LEFT COUNT 0 OBO", b"-ERR count should be greater than 0\r\n"),
        ("s t LEFT UP", SYNTAX_ERROR),
        ("s text LEFT LEFT", WRONG_TYPE),
    ],
)
def test_bad_moves_change_nothing(talk: Conversation, words: str, reply: bytes) -> None:
    talk.all("RPUSH s 1", "SET text v")
    assert talk.do(f"LMOVEM {words}") == reply
    assert (talk.events(), talk.propagated()) == ([], [])
