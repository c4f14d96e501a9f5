"""HIMPORT: hashes with the same fields, which are named once."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import OK, WRONG_TYPE, Conversation


@pytest.fixture
def talk(talk: Conversation) -> Conversation:
    talk.all("HIMPORT PREPARE people name age")
    return talk


def test_hashes_get_the_fields_that_were_prepared(talk: Conversation) -> None:
    assert talk.do("HIMPORT SET p:1 people Ada 36") == OK
    assert talk.do("HGETALL p:1") == (b"*4\r\n$4\r\nname\r\n$3\r\nAda\r\n$3\r\nage\r\n$2\r\n36\r\n")
    assert (talk.events(), talk.propagated()) == (
        ["new p:1", "hset p:1"],
        ["HSET p:1 name Ada age 36"],
    )


def test_a_hash_that_was_there_is_replaced_with_its_times(talk: Conversation) -> None:
    talk.all("HSET p x 1 age 5", "HEXPIRE p 10 FIELDS 1 age", "EXPIRE p 10")
    assert talk.do("HIMPORT SET p people Ada 36") == OK
    assert talk.do("HKEYS p") == b"*2\r\n$4\r\nname\r\n$3\r\nage\r\n"
    assert talk.do("TTL p") == b":-1\r\n"
    assert talk.do("HTTL p FIELDS 1 age") == b"*1\r\n:-1\r\n"
    assert talk.propagated() == ["MULTI", "DEL p", "HSET p name Ada age 36", "EXEC"]


def test_fieldsets_are_forgotten(talk: Conversation) -> None:
    talk.all("HIMPORT PREPARE a x", "HIMPORT PREPARE b x", "HIMPORT PREPARE b y")
    assert talk.do("HIMPORT DISCARD a") == b":1\r\n"
    assert talk.do("HIMPORT DISCARD a") == b":0\r\n"
    assert talk.do("HIMPORT DISCARDALL") == b":2\r\n"
    talk.all("HIMPORT PREPARE people name")
    talk.do("RESET")
    assert talk.do("HIMPORT SET p people Ada") == b"-ERR no such fieldset\r\n"


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ("HIMPORT PREPARE people a b a", b"-ERR duplicate field name in fieldset\r\n"),
        ("HIMPORT SET p nobody Ada", b"-ERR no such fieldset\r\n"),
        ("HIMPORT SET p people Ada", b"-ERR value count does not match the fieldset\r\n"),
        ("HIMPORT SET text people Ada 36", WRONG_TYPE),
        (
            "HIMPORT PREPARE people",
            b"-ERR wrong number of arguments for 'himport|prepare' command\r\n",
        ),
    ],
)
def test_wrong_requests_change_nothing(talk: Conversation, request_: str, error: bytes) -> None:
    talk.all("SET text 1")
    assert talk.do(request_) == error
    assert (talk.events(), talk.propagated()) == ([], [])
    assert talk.do("EXISTS p") == b":0\r\n"


def test_another_connection_has_fieldsets_of_its_own(talk: Conversation) -> None:
    assert talk.other().do("HIMPORT SET p people Ada 36") == b"-ERR no such fieldset\r\n"
    assert talk.do("HIMPORT HELP").startswith(b"*")
