"""GET, MGET, GETDEL, GETEX."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import Conversation


@pytest.mark.parametrize("command", ["GET", "GETDEL", "GETEX"])
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_long_string_is_answered_whole(talk: Conversation, command: str, more: int) -> None:
    value = b"0123456789abcdef" * 65_536 + b"x" * more if more >= 0 else b"y" * (2**20 - 1)
    talk.client.execute("SET", "k", value)
    assert talk.client.execute(command, "k") == b"$%d\r\n%b\r\n" % (len(value), value)
