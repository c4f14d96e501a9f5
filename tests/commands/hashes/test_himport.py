"""HIMPORT: hashes with the same fields, which are named once."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import Conversation


@pytest.fixture
def talk(talk: Conversation) -> Conversation:
    talk.all("HIMPORT PREPARE people name age")
    return talk


def test_another_connection_has_fieldsets_of_its_own(talk: Conversation) -> None:
    assert talk.other().do("HIMPORT SET p people Ada 36") == b"-ERR no such fieldset\r\n"
    assert talk.do("HIMPORT HELP").startswith(b"*")
