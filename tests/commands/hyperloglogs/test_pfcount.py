"""PFADD, PFCOUNT, PFMERGE.

PFDEBUG, PFSELFTEST. The replies are those of redis-server 8.2.3.
"""

from __future__ import annotations

import pytest

from storage.types import hyperloglog
from tests.commands.keys.conversation import OK, WRONG_TYPE, Conversation

NO_HYPERLOGLOG = b"-WRONGTYPE Key is not a valid HyperLogLog string value.\r\n"
CORRUPT = b"-INVALIDOBJ Corrupted HLL object detected\r\n"


def test_elements_are_counted_once(talk: Conversation) -> None:
    assert talk.do("PFADD k a b c") == b":1\r\n"
    assert talk.events() == ["new k", "pfadd k"]
    assert talk.do("PFADD k a c") == b":0\r\n"
    assert talk.do("PFCOUNT k") == b":3\r\n"
    assert talk.do("OBJECT ENCODING k") == b"$3\r\nraw\r\n"


def test_the_creation_and_each_element_that_is_new_are_changes(talk: Conversation) -> None:
    counts = []
    for request in ("PFADD k", "PFADD k a b c", "PFADD k a d", "PFADD k a", "PFADD new a b"):
        before = talk.server.instance.dirty
        talk.do(request)
        counts.append(talk.server.instance.dirty - before)
    assert counts == [1, 3, 1, 0, 3]


def test_the_bytes_are_those_of_redis(talk: Conversation) -> None:
    talk.do("PFADD k a b c")
    talk.do("PFCOUNT k")
    assert talk.client.execute("GET", "k") == (
        b"$27\r\nHYLL\x01\x00\x00\x00\x03" + bytes(7) + b"`\xf3\x80P\xb1\x84K\xfb\x80BZ\r\n"
    )


def test_an_empty_one_is_created_once(talk: Conversation) -> None:
    assert [talk.do("PFADD k"), talk.do("PFADD k")] == [b":1\r\n", b":0\r\n"]
    assert talk.propagated() == ["PFADD k"]
    assert talk.do("PFCOUNT k") == talk.do("PFCOUNT missing") == b":0\r\n"


def test_a_first_count_is_a_change_and_later_ones_are_not(talk: Conversation) -> None:
    talk.all("PFADD k a")
    talk.do("PFCOUNT k")
    talk.do("PFCOUNT k")
    talk.do("PFCOUNT k missing")
    assert talk.propagated() == ["PFCOUNT k"]


def test_several_are_counted_together(talk: Conversation) -> None:
    talk.all("PFADD a 1 2 3", "PFADD b 3 4")
    assert talk.do("PFCOUNT a b missing") == b":4\r\n"
    assert talk.do("PFCOUNT missing other") == b":0\r\n"
    assert talk.propagated() == []


def test_the_target_counts_as_a_source(talk: Conversation) -> None:
    talk.all("PFADD a 1 2 3", "PFADD b 3 4", "PFADD t 9")
    assert talk.do("PFMERGE t a b missing") == OK
    assert [one for one in talk.events() if "keymiss" not in one] == ["pfadd t"]
    assert talk.propagated() == ["PFMERGE t a b missing"]
    assert talk.do("PFCOUNT t") == b":5\r\n"
    assert talk.do("PFMERGE new") == OK
    assert talk.do("PFCOUNT new") == b":0\r\n"


def test_a_merge_with_a_dense_one_is_dense(talk: Conversation) -> None:
    talk.all("PFADD a 1", "CONFIG SET hll-sparse-max-bytes 20", "PFADD b 2 3 4 5 6")
    assert talk.do("STRLEN b") == b":12304\r\n"
    assert talk.do("PFMERGE a b") == OK
    assert talk.do("STRLEN a") == b":12304\r\n"
    assert talk.do("PFCOUNT a") == b":6\r\n"


@pytest.mark.parametrize(
    "request_", ["PFADD k a", "PFCOUNT k", "PFCOUNT k k", "PFMERGE k", "PFMERGE t k"]
)
def test_other_values_are_refused(talk: Conversation, request_: str) -> None:
    talk.all("SET k v")
    assert talk.do(request_) == NO_HYPERLOGLOG
    talk.all("DEL k", "RPUSH k a")
    assert talk.do(request_) == WRONG_TYPE
    talk.all("DEL k")
    talk.client.execute("SET", "k", b"HYLL\x01" + bytes(10) + b"\x80\x7f\xff\x80")
    assert talk.do(request_) in (CORRUPT, b":0\r\n", b":1\r\n")
    assert talk.do("PFCOUNT k") == CORRUPT


def test_the_first_source_that_is_wrong_decides_the_error(talk: Conversation) -> None:
    talk.all("SET other v")
    talk.client.execute("SET", "corrupt", b"HYLL\x01" + bytes(10) + b"\x80\x7f\xff\x80")
    assert talk.do("PFMERGE t corrupt other") == CORRUPT
    assert talk.do("PFMERGE t other corrupt") == NO_HYPERLOGLOG


@pytest.fixture
def filled(talk: Conversation) -> Conversation:
    talk.all("PFADD h a b")
    talk.server.propagated.clear()
    return talk


def test_the_runs_of_a_sparse_one_are_shown(filled: Conversation) -> None:
    assert filled.do("PFDEBUG ENCODING h") == b"+sparse\r\n"
    runs = b"Z:12711 v:2,1 Z:3068 v:1,1 Z:603"
    assert filled.do("PFDEBUG decode h") == b"$%d\r\n%b\r\n" % (len(runs), runs)
    assert filled.propagated() == []


def test_it_is_made_dense_once(filled: Conversation) -> None:
    assert filled.do("PFDEBUG TODENSE h") == b":1\r\n"
    assert filled.do("PFDEBUG TODENSE h") == b":0\r\n"
    assert filled.propagated() == ["PFDEBUG TODENSE h"]
    assert filled.do("PFDEBUG ENCODING h") == b"+dense\r\n"
    assert filled.do("PFDEBUG DECODE h") == b"-ERR HLL encoding is not sparse\r\n"
    assert filled.do("PFCOUNT h") == b":2\r\n"


def test_the_registers_are_read_from_a_dense_one(filled: Conversation) -> None:
    reply = filled.do("PFDEBUG GETREG h")
    assert reply.startswith(b"*16384\r\n")
    registers = [int(line) for line in reply.replace(b":", b"").split(b"\r\n")[1:-1]]
    assert (registers[12711], registers[12711 + 1 + 3068], sum(registers)) == (2, 1, 3)
    assert filled.do("PFDEBUG ENCODING h") == b"+dense\r\n"


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        ("PFDEBUG ENCODING missing", b"-ERR The specified key does not exist\r\n"),
        ("PFDEBUG FOO h", b"-ERR Unknown PFDEBUG subcommand 'FOO'\r\n"),
        ("PFDEBUG FOO s", b"-WRONGTYPE Key is not a valid HyperLogLog string value.\r\n"),
        ("PFDEBUG DECODE list", WRONG_TYPE),
        ("PFDEBUG h", b"-ERR wrong number of arguments for 'pfdebug' command\r\n"),
    ],
)
def test_bad_requests_are_refused(filled: Conversation, words: str, reply: bytes) -> None:
    filled.all("SET s x", "RPUSH list x")
    assert filled.do(words) == reply


def test_the_self_test_compares_estimates(
    talk: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert talk.do("PFSELFTEST") == OK
    monkeypatch.setattr(hyperloglog, "estimate", lambda registers: 7)
    assert talk.do("PFSELFTEST") == b"-TESTFAILED Too large an error: 7 of 1\r\n"
