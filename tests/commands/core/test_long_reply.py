"""Replies in pieces."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from commands.core.long_reply import LongReply
from protocol.errors import ReplyError


def test_a_reply_joins_to_all_of_its_pieces() -> None:
    assert LongReply([b"*2\r\n", b"", b":1\r\n:2\r\n"]).join() == b"*2\r\n:1\r\n:2\r\n"


def test_after_the_last_piece_there_is_none() -> None:
    reply = LongReply([b"x"])
    assert [reply.next_piece(), reply.next_piece(), reply.next_piece()] == [b"x", None, None]


def test_what_was_held_is_let_go_of_once_at_the_end() -> None:
    ends: list[None] = []
    reply = LongReply([b"x"], lambda: ends.append(None))
    reply.next_piece()
    assert not ends
    reply.next_piece()
    reply.end()
    assert len(ends) == 1


def test_a_reply_that_is_not_wanted_any_more_has_no_more_pieces() -> None:
    ends: list[None] = []
    reply = LongReply([b"x", b"y"], lambda: ends.append(None))
    reply.next_piece()
    reply.end()
    assert reply.next_piece() is None
    assert len(ends) == 1


def test_an_error_before_the_first_bytes_is_the_reply() -> None:
    def pieces() -> Iterator[bytes]:
        yield b""
        raise ReplyError(b"ERR not like this")

    ends: list[None] = []
    assert LongReply(pieces(), lambda: ends.append(None)).join() == b"-ERR not like this\r\n"
    assert len(ends) == 1


def test_a_defect_lets_go_of_what_was_held() -> None:
    def pieces() -> Iterator[bytes]:
        yield b"x"
        raise RuntimeError

    ends: list[None] = []
    reply = LongReply(pieces(), lambda: ends.append(None))
    reply.next_piece()
    with pytest.raises(RuntimeError):
        reply.next_piece()
    assert len(ends) == 1
