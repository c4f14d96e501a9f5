"""A zero-copy request parser: finds complete requests in a batch, and the offsets of their words.

The request stays bytes: a handler may extract the words that it needs, and take the rest unparsed
(`tail`), which is the form in which entries are stored and sent.

It accepts only what every client library sends: `*` and the number of words, then for each word
`$`, its length and its bytes; numbers in their shortest form, every line ended by CR LF, at most
MAX_WORDS words. It stops before anything else (an inline command, an unusual number, an incomplete
request), and `protocol/requests.py`, which knows all rules, limits and error texts, reads on.

Compiled by Cython. Interpreted it does the same, but is not used: hiredis is faster then.
"""

from __future__ import annotations

import cython

from protocol.request import Request, unparsed
from protocol.slots import slot_of_part

# Whether this server runs compiled: the whole hot core is, or none of it.
IS_COMPILED = bool(cython.compiled)

# A request with more words takes longer to run than to parse.
MAX_WORDS = 256
_MAX_WORDS: cython.Py_ssize_t = MAX_WORDS

# The most digits of a number: lengths are below 2**30.
_MAX_DIGITS: cython.Py_ssize_t = 9


@cython.cclass
class Cutter(Request):
    """Iterates over the requests of one batch, and is the request that it has found last.

    `position` is where the next one begins. Before the first `load` the batch is empty.
    """

    def __init__(self) -> None:
        super().__init__([])
        self.data = b""
        self.position = 0
        self._start = 0
        self._end = 0
        if not cython.compiled:
            self._starts = [0] * MAX_WORDS
            self._lengths = [0] * MAX_WORDS

    def load(self, data: bytes) -> None:
        """Begin with a new batch."""
        self.data = data
        self.position = 0
        self._end = len(data)

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def next(self) -> bool:
        """Find the request at `position` and move past it; False if none is complete and plain."""
        data: cython.p_const_uchar = self.data
        end: cython.Py_ssize_t = self._end
        place: cython.Py_ssize_t = self.position
        if end - place < 4 or data[place] != 42:  # *
            return False
        count: cython.Py_ssize_t = 0
        length: cython.Py_ssize_t
        stop: cython.Py_ssize_t
        index: cython.Py_ssize_t
        digit: cython.int
        place += 1
        stop = min(place + _MAX_DIGITS, end)
        if data[place] == 48:  # 0: no number begins with it, and each request has a word
            return False
        while place < stop:
            digit = data[place] - 48
            if digit < 0 or digit > 9:
                break
            count = count * 10 + digit
            place += 1
        if count == 0 or count > _MAX_WORDS:
            return False
        for index in range(count):
            # The end of the previous line, `$`, a digit, and the end of that line.
            if end - place < 6:
                return False
            if data[place] != 13 or data[place + 1] != 10 or data[place + 2] != 36:
                return False
            place += 3
            length = data[place] - 48
            if length < 0 or length > 9:
                return False
            place += 1
            if data[place] != 13:
                if length == 0:
                    return False
                stop = min(place + _MAX_DIGITS - 1, end)
                while place < stop:
                    digit = data[place] - 48
                    if digit < 0 or digit > 9:
                        break
                    length = length * 10 + digit
                    place += 1
            if end - place < length + 4 or data[place] != 13 or data[place + 1] != 10:
                return False
            place += 2
            self._starts[index] = place
            self._lengths[index] = length
            place += length
        if data[place] != 13 or data[place + 1] != 10:
            return False
        self.count = count
        self._words = None
        self.is_quick = False
        self._start = self.position
        self.position = place + 2
        return True

    def word(self, index: cython.Py_ssize_t) -> bytes:
        data: cython.p_const_uchar = self.data
        start: cython.Py_ssize_t = self._starts[index]
        return data[start : start + self._lengths[index]]

    def slot(self, index: cython.Py_ssize_t) -> cython.uint:
        start: cython.Py_ssize_t = self._starts[index]
        return slot_of_part(self.data, start, start + self._lengths[index])

    def _cut(self) -> list[bytes]:
        data: cython.p_const_uchar = self.data
        argv: list[bytes] = []
        start: cython.Py_ssize_t
        index: cython.Py_ssize_t
        for index in range(self.count):
            start = self._starts[index]
            argv.append(data[start : start + self._lengths[index]])
        return argv

    def words_bytes(self) -> cython.Py_ssize_t:
        total: cython.Py_ssize_t = 0
        index: cython.Py_ssize_t
        for index in range(self.count):
            total += self._lengths[index]
        return total

    def head(self, index: cython.Py_ssize_t) -> bytes:
        data: cython.p_const_uchar = self.data
        return data[self._start : self._bulk_start(index)]

    def tail(self, index: cython.Py_ssize_t) -> bytes:
        data: cython.p_const_uchar = self.data
        return data[self._bulk_start(index) : self.position]

    def part(self, index: cython.Py_ssize_t, end: cython.Py_ssize_t) -> bytes:
        data: cython.p_const_uchar = self.data
        return data[self._bulk_start(index) : self._bulk_start(end)]

    def whole(self) -> bytes:
        data: cython.p_const_uchar = self.data
        return data[self._start : self.position]

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def is_word(self, index: cython.Py_ssize_t, text: bytes) -> bool:
        length: cython.Py_ssize_t = self._lengths[index]
        if len(text) != length:
            return False
        data: cython.p_const_uchar = self.data
        other: cython.p_const_uchar = text
        start: cython.Py_ssize_t = self._starts[index]
        place: cython.Py_ssize_t
        for place in range(length):  # noqa: SIM110  (a C loop)
            if data[start + place] != other[place]:
                return False
        return True

    def is_byte(self, index: cython.Py_ssize_t, byte: cython.int) -> bool:
        data: cython.p_const_uchar = self.data
        return self._lengths[index] == 1 and data[self._starts[index]] == byte

    def identity(self) -> bytes | tuple[bytes, ...]:
        return self.whole()

    def keep(self) -> Request:
        return unparsed(self.whole(), self.count)

    @cython.cfunc
    def _bulk_start(self, index: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Where the `$` of a word is: after the word before it."""
        # The first word is the command's name, which no handler takes unparsed.
        return self._starts[index - 1] + self._lengths[index - 1] + 2
