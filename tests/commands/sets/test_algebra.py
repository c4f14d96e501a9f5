"""SINTER, SUNION, SDIFF with their STORE and CARD forms."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import SYNTAX_ERROR, WRONG_TYPE, Conversation


@pytest.fixture
def sets(talk: Conversation) -> Conversation:
    talk.all("SADD one a b c 1", "SADD two b c d 1", "SADD three 3 2 1", "SET text x")
    return talk


def test_another_type_is_refused_even_beside_a_missing_key(sets: Conversation) -> None:
    for name in ("SINTER", "SUNION", "SDIFF", "SINTERSTORE target"):
        assert sets.do(f"{name} none one text") == WRONG_TYPE
    assert sets.do("SINTERCARD 2 none text") == WRONG_TYPE
    assert sets.do("EXISTS target") == b":0\r\n"


NUMKEYS = b"-ERR numkeys should be greater than 0\r\n"
LIMIT = b"-ERR LIMIT can't be negative\r\n"


@pytest.mark.parametrize("name", ["SINTERCARD", "SUNIONCARD", "SDIFFCARD"])
@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("0 one", NUMKEYS),
        ("x one", NUMKEYS),
        ("2 one", b"-ERR Number of keys can't be greater than number of args\r\n"),
        ("1 one LIMIT", SYNTAX_ERROR),
        ("1 one LIMIT -1", LIMIT),
        ("1 one LIMIT x", LIMIT),
        ("1 one FOO", SYNTAX_ERROR),
        ("1 text FOO", SYNTAX_ERROR),
    ],
)
def test_what_is_refused(sets: Conversation, name: str, words: str, error: bytes) -> None:
    assert sets.do(f"{name} {words}") == error
