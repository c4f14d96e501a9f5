"""A request, as every handler takes it: `request[0]` is the name of its command.

One that the server has received is a view of the bytes that came (protocol/cutter.py), which is
good until its handler returns; `keep` makes what outlives that.

`request[i]`, `len` and iteration are all that most handlers need: they make the words at the first
use, and keep them. The typed questions (`word`, `is_word`, `tail`, ...) leave the bytes as they are
where the request is a view: a list of words costs 11 ns a word, a question about one up to 68.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, overload

import cython
import hiredis

from protocol import replies
from protocol.slots import key_slot

if TYPE_CHECKING:
    from protocol.requests import Argv

# What is about no more bytes than these takes a few microseconds in the commands that say so.
_QUICK_BYTES: cython.Py_ssize_t = 4096


@cython.no_gc  # it refers to words only; a transaction may keep very many
@cython.cclass
class Request:
    """A request that owns its words, or the bytes that were kept of a view.

    `count` is the number of words. `is_quick`: see `mark_quick`.
    """

    __slots__ = ("_wire", "_words", "count", "is_quick")

    def __init__(self, words: list[bytes]) -> None:
        self._words: list[bytes] | None = words
        self._wire: bytes | None = None
        self.count = len(words)
        self.is_quick = False

    # -- as a list of words --------------------------------------------------------------------

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        words = self._words
        if words is None:
            words = self.words()
        return words[index]

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.words())

    def words(self) -> list[bytes]:
        """All words. The list is the request's own: it may be kept, and must not be changed."""
        if self._words is None:
            self._words = self._cut()
        return self._words

    def _cut(self) -> list[bytes]:
        """Make the words from the bytes of a request that was kept."""
        assert self._wire is not None
        reader = hiredis.Reader()
        reader.feed(self._wire)
        words: list[bytes] = reader.gets()
        return words

    # -- typed questions -----------------------------------------------------------------------

    def word(self, index: cython.Py_ssize_t) -> bytes:
        """One word of the request."""
        return self.words()[index]

    def slot(self, index: cython.Py_ssize_t) -> cython.uint:
        """The hash slot of a word that is a key."""
        return key_slot(self.words()[index])

    def is_word(self, index: cython.Py_ssize_t, text: bytes) -> bool:
        """Return True if a word equals `text`."""
        return self.words()[index] == text

    def is_byte(self, index: cython.Py_ssize_t, byte: cython.int) -> bool:
        """Return True if a word is this one byte."""
        word: bytes = self.words()[index]
        return len(word) == 1 and word[0] == byte

    def words_bytes(self) -> cython.Py_ssize_t:
        """The length of all words together."""
        return sum(map(len, self.words()))

    def head(self, index: cython.Py_ssize_t) -> bytes:
        """The request in RESP, up to the word at `index`."""
        return b"*%d\r\n%b" % (self.count, replies.bulks(self.words()[:index]))

    def tail(self, index: cython.Py_ssize_t) -> bytes:
        """The words from `index` on in RESP: bulk strings, one after the other."""
        return replies.bulks(self.words()[index:])

    def part(self, index: cython.Py_ssize_t, end: cython.Py_ssize_t) -> bytes:
        """The words from `index` to before `end` in RESP."""
        return replies.bulks(self.words()[index:end])

    def whole(self) -> bytes:
        """The request in RESP: an array of bulk strings."""
        if self._wire is not None:
            return self._wire
        return replies.command(self.words())

    def identity(self) -> bytes | tuple[bytes, ...]:
        """A key for tables of requests: alike for requests that arrived in the same way."""
        return tuple(self.words())

    def mark_quick(self, size_bytes: cython.Py_ssize_t) -> None:
        """Note that the request took its handler a few microseconds, if it was about few bytes.

        Quick requests are counted together, up to 16 at a time (server/requests/dispatch.py).
        """
        self.is_quick = size_bytes <= _QUICK_BYTES

    # -- beyond its handler --------------------------------------------------------------------

    def keep(self) -> Request:
        """The request for whoever needs it after its handler has returned."""
        return self

    def wire(self) -> bytes | None:
        """The bytes of a request that was kept unparsed, None once it has been asked for words."""
        return self._wire if self._words is None else None


def of_words(words: Argv) -> Request:
    """`Request(words)`, as a C function."""
    request: Request = Request.__new__(Request)
    request._words, request._wire, request.count = words, None, len(words)
    request.is_quick = False
    return request


def unparsed(wire: bytes, count: cython.Py_ssize_t) -> Request:
    """A request of `count` words that is kept as its bytes, in RESP."""
    request: Request = Request.__new__(Request)
    request._words, request._wire, request.count = None, wire, count
    request.is_quick = False
    return request
