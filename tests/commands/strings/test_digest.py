"""DIGEST, DELEX."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import NIL, SYNTAX_ERROR, WRONG_TYPE, Conversation

DIGEST_OF_A = "e6c632b61e964e1f"
WRONG_ARITY = b"-ERR wrong number of arguments for 'delex' command\r\n"
NO_DIGEST = b"-ERR must be exactly 16 hexadecimal characters\r\n"
NO_STRING = b"-ERR Key should be of string type if conditions are specified\r\n"


def test_a_digest_has_sixteen_digits(talk: Conversation) -> None:
    talk.all("SET k a", "RPUSH list a")
    assert talk.do("DIGEST k") == b"$16\r\n%b\r\n" % DIGEST_OF_A.encode()
    assert talk.do("DIGEST missing") == NIL
    assert talk.do("DIGEST list") == WRONG_TYPE


@pytest.mark.parametrize(
    ("words", "removed"),
    [
        ("", True),
        ("IFEQ a", True),
        ("ifeq b", False),
        ("IFNE b", True),
        ("IFNE a", False),
        (f"IFDEQ {DIGEST_OF_A.upper()}", True),
        (f"IFDNE {DIGEST_OF_A}", False),
    ],
)
def test_a_key_goes_if_the_condition_holds(talk: Conversation, words: str, removed: bool) -> None:
    talk.all("SET k a")
    assert talk.do(f"DELEX k {words}") == b":%d\r\n" % removed
    assert talk.events() == (["del k"] if removed else [])
    assert talk.propagated() == (["DEL k"] if removed else [])
    assert talk.do(f"DELEX missing {words}") == b":0\r\n"


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        ("k IFEQ", WRONG_ARITY),
        ("k IFEQ a b", WRONG_ARITY),
        ("k FOO a", SYNTAX_ERROR),
        ("k IFDEQ a", NO_DIGEST),
        ("list IFNE a", NO_STRING),
        ("list", b":1\r\n"),
    ],
)
def test_other_requests(talk: Conversation, words: str, reply: bytes) -> None:
    talk.all("SET k a", "RPUSH list a")
    assert talk.do(f"DELEX {words}") == reply
