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
    NIL,
    NOT_AN_INTEGER,
    OK,
    SYNTAX_ERROR,
    WRONG_TYPE,
    Conversation,
)


def test_a_side_may_be_in_any_case() -> None:
    assert (parse_side(b"left"), parse_side(b"Right")) == (LEFT, RIGHT)
    with pytest.raises(ReplyError):
        parse_side(b"middle")


def test_a_new_list_is_announced_first_and_an_empty_one_last(talk: Conversation) -> None:
    talk.do("RPUSH k a b")
    assert talk.events() == ["new k", "rpush k"]
    talk.do("LPOP k")
    assert talk.events() == ["lpop k"]
    talk.do("LPOP k")
    assert talk.events() == ["lpop k", "del k"]
    assert talk.do("EXISTS k") == b":0\r\n"


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


def test_an_emptied_list_loses_its_deadline(talk: Conversation) -> None:
    talk.all("RPUSH k a", "EXPIRE k 100", "LPOP k", "RPUSH k a")
    assert talk.do("TTL k") == b":-1\r\n"


def test_the_encoding_follows_the_limits(talk: Conversation) -> None:
    talk.all("CONFIG SET list-max-listpack-size 4", "RPUSH k a b c d")
    assert talk.do("OBJECT ENCODING k") == b"$8\r\nlistpack\r\n"
    talk.all("RPUSH k e")
    assert talk.do("OBJECT ENCODING k") == b"$9\r\nquicklist\r\n"
    talk.all("RPOP k 2")
    assert talk.do("OBJECT ENCODING k") == b"$9\r\nquicklist\r\n"
    talk.all("RPOP k")
    assert talk.do("OBJECT ENCODING k") == b"$8\r\nlistpack\r\n"


def bulks(words: str) -> bytes:
    parts = words.split()
    return b"*%d\r\n" % len(parts) + b"".join(
        b"$%d\r\n%b\r\n" % (len(p), p.encode()) for p in parts
    )


def integers(*numbers: int) -> bytes:
    return b"*%d\r\n" % len(numbers) + b"".join(b":%d\r\n" % number for number in numbers)


@pytest.fixture
def filled(talk: Conversation) -> Conversation:
    talk.all("RPUSH l a b c a b c", "SET text v")
    return talk


@pytest.mark.parametrize(
    ("index", "expected"),
    [("0", "a"), ("2", "c"), ("-1", "c"), ("-6", "a"), ("6", None), ("-7", None)],
)
def test_an_element_is_found_by_its_index(
    filled: Conversation, index: str, expected: str | None
) -> None:
    reply = NIL if expected is None else b"$1\r\n%b\r\n" % expected.encode()
    assert filled.do(f"LINDEX l {index}") == reply


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ("0 -1", "a b c a b c"),
        ("1 2", "b c"),
        ("-2 -1", "b c"),
        ("-100 100", "a b c a b c"),
        ("4 2", ""),
        ("6 9", ""),
        ("0 -7", ""),
    ],
)
def test_a_range_includes_both_ends(filled: Conversation, bounds: str, expected: str) -> None:
    assert filled.do(f"LRANGE l {bounds}") == bulks(expected)


def test_without_the_key_there_is_nothing(talk: Conversation) -> None:
    assert talk.do("LLEN k") == b":0\r\n"
    assert talk.do("LINDEX k 0") == talk.do("LINDEX k x") == talk.do("LPOS k a") == NIL
    assert talk.do("LRANGE k 0 -1") == talk.do("LPOS k a COUNT 1") == b"*0\r\n"


@pytest.mark.parametrize("request_", ["LLEN", "LINDEX", "LRANGE", "LPOS"])
def test_other_types_and_bad_numbers_are_refused(filled: Conversation, request_: str) -> None:
    rest = {"LLEN": "", "LINDEX": "0", "LRANGE": "0 1", "LPOS": "a"}[request_]
    assert filled.do(f"{request_} text {rest}") == WRONG_TYPE
    if "0" in rest:
        assert filled.do(f"{request_} l {rest.replace('0', 'x')}") == NOT_AN_INTEGER


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", b":1\r\n"),
        ("RANK 2", b":4\r\n"),
        ("RANK 3", NIL),
        ("RANK -1", b":4\r\n"),
        ("COUNT 0", integers(1, 4)),
        ("COUNT 0 RANK -1", integers(4, 1)),
        ("COUNT 1 RANK 2", integers(4)),
        ("RANK 9223372036854775807 COUNT 9223372036854775807", integers()),
        ("MAXLEN 1", NIL),
        ("MAXLEN 2 COUNT 0", integers(1)),
        ("MAXLEN 1 RANK -1", NIL),
        ("MAXLEN 2 RANK -1 COUNT 0", integers(4)),
        ("RANK 0", b"-ERR RANK can't be zero: use 1 to start from the first match, 2 from the"
         b" second ... or use negative to start from the end of the list\r\n"),
        ("RANK x", NOT_AN_INTEGER),
        ("RANK -9223372036854775808", b"-ERR value is out of range, value must between"
         b" -9223372036854775807 and 9223372036854775807\r\n"),
        ("COUNT -1", b"-ERR COUNT can't be negative\r\n"),
        ("MAXLEN -1", b"-ERR MAXLEN can't be negative\r\n"),
        ("FOO x", SYNTAX_ERROR),
        ("RANK", SYNTAX_ERROR),
    ],
)  # fmt: skip
def test_an_element_is_searched(filled: Conversation, options: str, expected: bytes) -> None:
    assert filled.do(f"LPOS l b {options}") == expected


def test_a_long_range_is_of_the_moment_at_which_it_was_asked_for(talk: Conversation) -> None:
    words = " ".join(f"element-{number}" for number in range(6000))
    talk.all(f"RPUSH l {words}")
    assert talk.do("LRANGE l 0 -1") == bulks(words)
    talk.all("MULTI")
    talk.do("LRANGE l 0 -1")
    talk.do("DEL l")
    assert talk.do("EXEC") == b"*2\r\n" + bulks(words) + b":1\r\n"


NO_SUCH_KEY = b"-ERR no such key\r\n"


def content(talk: Conversation) -> bytes:
    return talk.do("LRANGE l 0 -1")


def test_an_element_is_replaced(filled: Conversation) -> None:
    assert filled.do("LSET l -1 z") == OK
    assert filled.do("LSET l 0 y") == OK
    assert content(filled) == bulks("y b c a b z")
    assert filled.events() == ["lset l", "lset l"]
    assert filled.do("LSET l 6 x") == b"-ERR index out of range\r\n"
    assert filled.do("LSET l x x") == NOT_AN_INTEGER
    assert filled.do("LSET no x x") == NO_SUCH_KEY
    assert filled.do("LSET text 0 x") == WRONG_TYPE


@pytest.mark.parametrize(
    ("words", "reply", "expected"),
    [
        ("l BEFORE a x", b":7\r\n", "x a b c a b c"),
        ("l after c x", b":7\r\n", "a b c x a b c"),
        ("l BEFORE z x", b":-1\r\n", "a b c a b c"),
        ("no BEFORE z x", b":0\r\n", "a b c a b c"),
        ("l BESIDE a x", SYNTAX_ERROR, "a b c a b c"),
        ("text BEFORE a x", WRONG_TYPE, "a b c a b c"),
    ],
)
def test_an_element_is_inserted_beside_the_first_pivot(
    filled: Conversation, words: str, reply: bytes, expected: str
) -> None:
    assert filled.do(f"LINSERT {words}") == reply
    assert filled.events() == (["linsert l"] if reply == b":7\r\n" else [])
    assert content(filled) == bulks(expected)


@pytest.mark.parametrize(
    ("words", "reply", "expected"),
    [
        ("l 0 a", b":2\r\n", "b c b c"),
        ("l 1 b", b":1\r\n", "a c a b c"),
        ("l -1 b", b":1\r\n", "a b c a c"),
        ("l -9 b", b":2\r\n", "a c a c"),
        ("l 0 z", b":0\r\n", "a b c a b c"),
        ("no 0 a", b":0\r\n", "a b c a b c"),
        ("l x a", NOT_AN_INTEGER, "a b c a b c"),
        ("text 0 a", WRONG_TYPE, "a b c a b c"),
    ],
)
def test_equal_elements_are_removed(
    filled: Conversation, words: str, reply: bytes, expected: str
) -> None:
    assert filled.do(f"LREM {words}") == reply
    changed = reply in (b":1\r\n", b":2\r\n")
    assert filled.events() == (["lrem l"] if changed else [])
    assert filled.propagated() == ([f"LREM {words}"] if changed else [])
    assert content(filled) == bulks(expected)


def test_the_last_removal_removes_the_key(talk: Conversation) -> None:
    talk.all("RPUSH l a a")
    assert talk.do("LREM l 0 a") == b":2\r\n"
    assert talk.events() == ["lrem l", "del l"]
    assert talk.do("EXISTS l") == b":0\r\n"


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


def test_much_that_was_trimmed_is_freed_later(talk: Conversation) -> None:
    talk.server.instance.config.list_max_listpack_size = 5
    words = " ".join(map(str, range(30_000)))
    talk.all(f"RPUSH l {words}")
    client = talk.client
    client.send(b"*4\r\n$5\r\nLTRIM\r\n$1\r\nl\r\n$1\r\n0\r\n$1\r\n1\r\n")
    assert len(talk.server.instance.background_work) == 1
    talk.server.tick()
    assert len(talk.server.instance.background_work) == 0


def test_elements_are_pushed_one_after_the_other(talk: Conversation) -> None:
    assert talk.do("LPUSH k a b c") == b":3\r\n"
    assert talk.do("RPUSH k x y") == b":5\r\n"
    assert talk.do("LRANGE k 0 -1") == (
        b"*5\r\n$1\r\nc\r\n$1\r\nb\r\n$1\r\na\r\n$1\r\nx\r\n$1\r\ny\r\n"
    )
    assert talk.propagated() == ["LPUSH k a b c", "RPUSH k x y"]


@pytest.mark.parametrize("name", ["LPUSHX", "RPUSHX"])
def test_what_wants_a_list_creates_none(talk: Conversation, name: str) -> None:
    assert talk.do(f"{name} k a") == b":0\r\n"
    assert len(talk.server.instance.databases[0]) == 0
    assert (talk.events(), talk.propagated()) == ([], [])
    talk.all("RPUSH k a")
    assert talk.do(f"{name} k b c") == b":3\r\n"
    assert talk.events() == [f"{name[:5].lower()} k"]


@pytest.mark.parametrize("name", ["LPUSH", "RPUSH", "LPUSHX", "RPUSHX"])
def test_other_types_are_refused(talk: Conversation, name: str) -> None:
    talk.all("SET k v")
    assert talk.do(f"{name} k a") == WRONG_TYPE
    assert talk.do(f"{name} k").startswith(b"-ERR wrong number of arguments")


NOT_POSITIVE = b"-ERR value is out of range, must be positive\r\n"
BAD_NUMKEYS = b"-ERR numkeys should be greater than 0\r\n"
BAD_COUNT = b"-ERR count should be greater than 0\r\n"


def test_an_element_comes_from_either_end(talk: Conversation) -> None:
    talk.all("RPUSH k a b c")
    assert talk.do("LPOP k") == b"$1\r\na\r\n"
    assert talk.do("RPOP k") == b"$1\r\nc\r\n"
    assert talk.events() == ["lpop k", "rpop k"]
    assert talk.propagated() == ["LPOP k", "RPOP k"]


def test_a_count_gives_an_array_in_the_order_of_leaving(talk: Conversation) -> None:
    talk.all("RPUSH k a b c d")
    assert talk.do("RPOP k 2") == b"*2\r\n$1\r\nd\r\n$1\r\nc\r\n"
    assert talk.do("LPOP k 0") == b"*0\r\n"
    assert talk.do("LPOP k 9") == b"*2\r\n$1\r\na\r\n$1\r\nb\r\n"
    assert talk.propagated() == ["RPOP k 2", "LPOP k 9"]


def test_without_the_key_nothing_is_popped(talk: Conversation) -> None:
    assert talk.do("LPOP k") == NIL
    assert talk.do("RPOP k 3") == talk.do("RPOP k 0") == b"*-1\r\n"
    talk.do("HELLO 3")
    assert talk.do("LPOP k") == talk.do("LPOP k 1") == b"_\r\n"


@pytest.mark.parametrize("count", ["-1", "x", "1.5", ""])
def test_a_count_must_be_a_number(talk: Conversation, count: str) -> None:
    talk.all("SET k v")
    assert talk.do(f"LPOP k '{count}'") == NOT_POSITIVE
    assert talk.do("LPOP k 1") == WRONG_TYPE
    assert talk.do("LPOP k 1 2") == b"-ERR wrong number of arguments for 'lpop' command\r\n"


def test_the_first_list_that_exists_is_popped_from(talk: Conversation) -> None:
    talk.all("RPUSH b 1 2 3", "RPUSH c 4")
    assert (
        talk.do("LMPOP 3 a b c RIGHT COUNT 2") == b"*2\r\n$1\r\nb\r\n*2\r\n$1\r\n3\r\n$1\r\n2\r\n"
    )
    assert talk.do("LMPOP 2 b c LEFT") == b"*2\r\n$1\r\nb\r\n*1\r\n$1\r\n1\r\n"
    assert talk.propagated() == ["RPOP b 2", "LPOP b 1"]
    assert talk.do("LMPOP 1 a LEFT") == b"*-1\r\n"
    assert talk.propagated() == []


def test_the_number_that_is_propagated_is_what_was_there(talk: Conversation) -> None:
    talk.all("RPUSH a 1 2")
    talk.do("LMPOP 1 a LEFT COUNT 100")
    assert talk.propagated() == ["LPOP a 2"]


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        ("0 l LEFT", BAD_NUMKEYS),
        ("x l LEFT", BAD_NUMKEYS),
        ("2 l LEFT", SYNTAX_ERROR),
        ("99999 l LEFT", SYNTAX_ERROR),
        ("1 l UP", SYNTAX_ERROR),
        ("1 l LEFT COUNT 0", BAD_COUNT),
        ("1 l LEFT COUNT", SYNTAX_ERROR),
        ("1 l LEFT 5", SYNTAX_ERROR),
        ("1 l LEFT COUNT 1 COUNT 1", SYNTAX_ERROR),
        ("2 no text LEFT", WRONG_TYPE),
    ],
)
def test_bad_requests_are_refused(talk: Conversation, words: str, reply: bytes) -> None:
    talk.all("RPUSH l a", "SET text v")
    assert talk.do(f"LMPOP {words}") == reply
    assert talk.do("LLEN l") == b":1\r\n"


def test_its_keys_are_found_by_their_number(talk: Conversation) -> None:
    assert talk.do("COMMAND GETKEYS LMPOP 2 a b LEFT") == b"*2\r\n$1\r\na\r\n$1\r\nb\r\n"
    assert talk.do("COMMAND GETKEYS BLMPOP 0 1 a LEFT") == b"*1\r\n$1\r\na\r\n"


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
