"""Long replies, made and sent in pieces so that other clients keep their turn.

A handler that finds that it has tens of thousands of entries to answer returns a `LongReply`
instead of bytes. The server then makes a piece at a time, between other clients' requests, as fast
as the client takes them (server/long_replies.py). Meanwhile the client's own later requests wait.

The reply must be that of the moment at which the handler ran: what it needs and what may change
has to be taken hold of by then. Inside EXEC, and wherever nobody sends pieces, it is joined and
answered at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from protocol.errors import ReplyError


class LongReply:
    """A reply in pieces; see the module."""

    __slots__ = ("_on_end", "_pieces", "behind", "is_begun", "request", "used_us")

    def __init__(self, pieces: Iterable[bytes], on_end: Callable[[], object] | None = None) -> None:
        """`pieces`: each takes at most about half a millisecond to make; it may be empty.

        Making them may raise a ReplyError, as long as all pieces before were empty. `on_end` is
        called once, when nothing more is wanted: after the last piece, or when the client is gone.
        """
        self._pieces: Iterator[bytes] = iter(pieces)
        self._on_end = on_end
        self.is_begun = False  # something of it was sent
        self.behind: list[bytes] = []  # messages that came meanwhile, to be sent behind it
        self.request: list[bytes] = []  # that it answers
        self.used_us = 0  # for the pieces so far

    def next_piece(self) -> bytes | None:
        """Another piece; None behind the last one. An error is a piece, and the last one."""
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
        elif piece is None:
            self.end()
        return piece

    def join(self) -> bytes:
        """All of it at once."""
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
