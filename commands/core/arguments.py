"""A cursor over a request's arguments.

Handlers parse all of their arguments before they change anything. `Arguments` keeps the current
position and raises the errors that parsers share: "not an integer", "syntax error" for a missing or
a trailing argument.
"""

from __future__ import annotations

import cython

from protocol import errors
from protocol.errors import ReplyError
from protocol.request import Request
from storage.redis_format.listpack_size import plain_integer

INT64_MIN = -(1 << 63)
INT64_MAX = (1 << 63) - 1


def parse_int(
    text: bytes,
    error: bytes = errors.NOT_AN_INTEGER,
    minimum: cython.longlong = INT64_MIN,
    maximum: cython.longlong = INT64_MAX,
) -> cython.longlong:
    """A canonical decimal integer in the given bounds; `ReplyError(error)` otherwise.

    Redis's string2ll: no blanks, no leading zeros, no plus sign.
    """
    number: cython.longlong = plain_integer(text, 0, len(text))
    if number < minimum or number > maximum or (number == 0 and text != b"0"):
        raise ReplyError(error)
    return number


class Arguments:
    """The arguments of a request from `position` on."""

    __slots__ = ("argv", "position")

    def __init__(self, request: Request, position: int) -> None:
        self.argv = request.words()
        self.position = position

    def __bool__(self) -> bool:
        return self.position < len(self.argv)

    @property
    def remaining(self) -> int:
        """The number of arguments that are left."""
        return len(self.argv) - self.position

    def peek(self) -> bytes:
        """The next word in upper case, b"" at the end; the cursor stays."""
        return self.argv[self.position].upper() if self else b""

    def next(self, error: bytes = errors.SYNTAX) -> bytes:
        """The next word as it was sent; `ReplyError(error)` at the end."""
        if not self:
            raise ReplyError(error)
        word = self.argv[self.position]
        self.position += 1
        return word

    def next_keyword(self) -> bytes:
        """The next word in upper case."""
        return self.next().upper()

    def take(self, keyword: bytes) -> bool:
        """Step over `keyword` (upper case) if it comes next."""
        if self.peek() != keyword:
            return False
        self.position += 1
        return True

    def next_int(
        self,
        error: bytes = errors.NOT_AN_INTEGER,
        minimum: int = INT64_MIN,
        maximum: int = INT64_MAX,
    ) -> int:
        """The next word as an integer (see `parse_int`); a missing word is a syntax error."""
        return parse_int(self.next(), error, minimum, maximum)

    def finish(self, error: bytes = errors.SYNTAX) -> None:
        """Raise `ReplyError(error)` if arguments are left."""
        if self:
            raise ReplyError(error)
