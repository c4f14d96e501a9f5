"""PFDEBUG, PFSELFTEST. The replies are those of redis-server 8.2.3."""

from __future__ import annotations

import pytest

from storage.types import hyperloglog
from tests.commands.keys.conversation import OK, WRONG_TYPE, Conversation


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
