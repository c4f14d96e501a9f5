"""Long replies, built and sent in pieces so that other clients are served in between.

A handler whose reply has thousands of entries, or a megabyte, returns a `LongReply`, not bytes. The
server then builds one piece at a time, between other clients' requests, as fast as the client reads
them (back-pressure) (server/loop/long_replies.py). Meanwhile the client's own later requests wait.

The reply must show the data as it was when the handler ran: the handler must copy or freeze what
may change later. EXEC answers the pieces of all its replies in their order. Wherever pieces cannot
be sent, they are joined into one reply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from protocol import replies
from protocol.errors import ReplyError

T = TypeVar("T")

# A reply of more bytes is a long one, and the size of its pieces if that is not given otherwise.
LONG_BYTES = 1024 * 1024
PIECE_BYTES = 128 * 1024


class LongReply:
    """A reply in pieces; see the module."""

    __slots__ = (
        "_on_end", "_pieces", "is_begun", "queued_messages", "request", "shows_changes", "size",
        "used_us",
    )  # fmt: skip

    def __init__(
        self,
        pieces: Iterable[bytes],
        on_end: Callable[[], object] | None = None,
        *,
        shows_changes: bool = False,
    ) -> None:
        """`pieces`: each takes at most about half a millisecond to make; it may be empty.

        The iterator may raise a ReplyError as long as all pieces before were empty. `on_end` is
        called once: after the last piece, or when the client disconnects. `shows_changes`: later
        pieces show later changes (SCAN).
        """
        self._pieces: Iterator[bytes] = iter(pieces)
        self._on_end = on_end
        self.is_begun = False  # whether a part of it was sent
        self.queued_messages: list[bytes] = []  # sent after the reply
        self.request: list[bytes] = []  # the request that it answers
        self.used_us = self.size = 0  # for the pieces so far, and of them in bytes
        self.shows_changes = shows_changes

    def next_piece(self) -> bytes | None:
        """The next piece; None after the last one. An error is a piece, and the last one."""
        try:
            piece = next(self._pieces, None)
        except ReplyError as error:
            assert not self.is_begun, "an error in the middle of a reply"
            self._pieces = iter(())
            piece = error.wire
        except BaseException:
            self.end()
            raise
        if piece:
            self.is_begun = True
            self.size += len(piece)
        elif piece is None:
            self.end()
        return piece

    def join(self) -> bytes:
        """The whole reply at once."""
        pieces: list[bytes] = []
        while (piece := self.next_piece()) is not None:
            pieces.append(piece)
        return b"".join(pieces)

    def end(self) -> None:
        """No more pieces are wanted."""
        self._pieces = iter(())
        on_end, self._on_end = self._on_end, None
        if on_end is not None:
            on_end()


def sliced(
    header: bytes, items: list[T], size: int, encode: Callable[[list[T]], bytes]
) -> Iterator[bytes]:
    """A header, and the items, `size` of them in each piece."""
    yield header
    for start in range(0, len(items), size):
        yield encode(items[start : start + size])


def sliced_bulks(header: bytes, texts: list[bytes], size: int) -> Iterator[bytes]:
    """A header, and texts as bulk strings, `size` of them in each piece."""
    return sliced(header, texts, size, replies.bulks)


def is_long(items: int, item_bytes: int, most_items: int) -> bool:
    """Return True if a reply of items of about that size is to go in pieces."""
    return items > most_items or items * item_bytes > LONG_BYTES


def items_per_piece(item_bytes: int, most_items: int) -> int:
    """The number of items of about that size that make a piece."""
    return max(1, min(most_items, PIECE_BYTES // max(1, item_bytes)))


def in_pieces(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Parts of any size, joined or cut to pieces of about the usual size."""
    few: list[bytes] = []
    size = 0
    for part in parts:
        if len(part) > PIECE_BYTES:
            yield b"".join(few)
            few, size = [], 0
            yield from (part[at : at + PIECE_BYTES] for at in range(0, len(part), PIECE_BYTES))
            continue
        few.append(part)
        size += len(part)
        if size >= PIECE_BYTES:
            yield b"".join(few)
            few, size = [], 0
    yield b"".join(few)
