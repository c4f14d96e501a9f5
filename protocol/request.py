"""A request, as every handler takes it: `request[0]` is the name of its command.

One that the server has received is a view of the bytes that came (`Cutter`), which is good until
its handler returns; `keep` makes what outlives that.

`request[i]`, `len` and iteration are all that most handlers need: they make the words at the first
use, and keep them. The typed questions (`word`, `is_word`, `tail`, ...) leave the bytes as they are
where the request is a view: a list of words costs 11 ns a word, a question about one up to 68.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias, overload

import cython

from protocol import replies

if not cython.compiled:
    import hiredis

Words: TypeAlias = list[bytes]  # of a request, the name of its command first

# Whether this server runs compiled: the whole hot core is, or none of it.
IS_COMPILED = bool(cython.compiled)

# A request that has no more is short.
SHORT_BYTES = 4096
SHORT_WORDS = 32
_SHORT_BYTES: cython.Py_ssize_t = SHORT_BYTES
_SHORT_WORDS: cython.Py_ssize_t = SHORT_WORDS
# The most digits of a number that the cutter reads: none of them overflows.
_MAX_DIGITS: cython.Py_ssize_t = 18
# A plain word takes at least this many bytes.
_LEAST_WORD_BYTES: cython.Py_ssize_t = len(b"$0\r\n\r\n")
# The cutter keeps room for this many words, and makes more for a batch that has longer requests.
_KEPT_WORDS: cython.Py_ssize_t = 256
# Of Redis Cluster.
SLOT_COUNT = 16_384
_MASK: cython.uint = SLOT_COUNT - 1
_WILDCARDS = b"*?[\\"


@cython.no_gc  # it refers to words only; a transaction may keep very many
@cython.cclass
class Request:
    """A request that owns its words, or the bytes that were kept of a view.

    `count` is the number of words. `takes_long`: its handler has found more to do than a short
    request of a quick command (`Command.is_quick`).
    """

    __slots__ = ("_wire", "_words", "count", "takes_long")

    def __init__(self, words: list[bytes]) -> None:
        self._words: list[bytes] | None = words
        self._wire: bytes | None = None
        self.count = len(words)
        self.takes_long = False

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
        return words_of_all(self._wire)[0]

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

    def is_short(self) -> bool:
        """Return True if it has few words of few bytes."""
        return self.count <= _SHORT_WORDS and self.words_bytes() <= _SHORT_BYTES

    # -- beyond its handler --------------------------------------------------------------------

    def keep(self) -> Request:
        """The request for whoever needs it after its handler has returned."""
        return self

    def wire(self) -> bytes | None:
        """The bytes of a request that was kept unparsed, None once it has been asked for words."""
        return self._wire if self._words is None else None


def of_words(words: Words) -> Request:
    """`Request(words)`, as a C function."""
    request: Request = Request.__new__(Request)
    request._words, request._wire, request.count = words, None, len(words)
    request.takes_long = False
    return request


def unparsed(wire: bytes, count: cython.Py_ssize_t) -> Request:
    """A request of `count` words that is kept as its bytes, in RESP."""
    request: Request = Request.__new__(Request)
    request._words, request._wire, request.count = None, wire, count
    request.takes_long = False
    return request


@cython.cclass
class Cutter(Request):
    """Finds the plain requests of a batch, without a copy, and is the one that it has found last.

    Plain is what every client library sends: `*` and the number of words, then for each word `$`,
    its length and its bytes; numbers in their shortest form, every line ended by CR LF. It stops
    before anything else (an inline command, an unusual number, an incomplete request), which
    protocol/requests.py reads: that knows all rules, limits and error texts.

    `position` is where the next request begins. Before the first `load` the batch is empty.

    Where nothing is compiled, `ParsedRequests` takes its place.
    """

    def __init__(self) -> None:
        super().__init__([])
        self.data = b""
        self.position = 0
        self._start = 0
        self._end = 0
        if not cython.compiled:
            self._places: cython.p_long = []
        self._make_room(_KEPT_WORDS)

    def __dealloc__(self) -> None:
        free_places(self._places)  # type: ignore[name-defined]  # noqa: F821

    def load(self, data: bytes, position: cython.Py_ssize_t = 0) -> None:
        """Begin with a new batch, at a position of its bytes."""
        self.data = data
        self.position = position
        self._end = len(data)
        if self._room > _KEPT_WORDS:
            self._make_room(_KEPT_WORDS)

    @cython.cfunc
    def _make_room(self, count: cython.Py_ssize_t) -> None:
        places: cython.p_long = resized(self._places, count)  # type: ignore[name-defined]  # noqa: F821
        self._places = places
        self._room = count

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
        if count == 0:
            return False
        if count > self._room:
            if count > (end - place) // _LEAST_WORD_BYTES:
                return False
            self._make_room(count)
        places: cython.p_long = self._places
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
            places[2 * index] = place
            places[2 * index + 1] = length
            place += length
        if data[place] != 13 or data[place + 1] != 10:
            return False
        self.count = count
        self._words = None
        self.takes_long = False
        self._start = self.position
        self.position = place + 2
        return True

    def word(self, index: cython.Py_ssize_t) -> bytes:
        data: cython.p_const_uchar = self.data
        start: cython.Py_ssize_t = self._places[2 * index]
        return data[start : start + self._places[2 * index + 1]]

    def slot(self, index: cython.Py_ssize_t) -> cython.uint:
        start: cython.Py_ssize_t = self._places[2 * index]
        return slot_of_part(self.data, start, start + self._places[2 * index + 1])

    def _cut(self) -> list[bytes]:
        data: cython.p_const_uchar = self.data
        argv: list[bytes] = []
        start: cython.Py_ssize_t
        index: cython.Py_ssize_t
        for index in range(self.count):
            start = self._places[2 * index]
            argv.append(data[start : start + self._places[2 * index + 1]])
        return argv

    def words_bytes(self) -> cython.Py_ssize_t:
        total: cython.Py_ssize_t = 0
        index: cython.Py_ssize_t
        for index in range(self.count):
            total += self._places[2 * index + 1]
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
        length: cython.Py_ssize_t = self._places[2 * index + 1]
        if len(text) != length:
            return False
        data: cython.p_const_uchar = self.data
        other: cython.p_const_uchar = text
        start: cython.Py_ssize_t = self._places[2 * index]
        place: cython.Py_ssize_t
        for place in range(length):  # noqa: SIM110  (a C loop)
            if data[start + place] != other[place]:
                return False
        return True

    def is_short(self) -> bool:
        return self.count <= _SHORT_WORDS and self.position - self._start <= _SHORT_BYTES

    def is_byte(self, index: cython.Py_ssize_t, byte: cython.int) -> bool:
        data: cython.p_const_uchar = self.data
        return self._places[2 * index + 1] == 1 and data[self._places[2 * index]] == byte

    def identity(self) -> bytes | tuple[bytes, ...]:
        return self.whole()

    def keep(self) -> Request:
        return unparsed(self.whole(), self.count)

    @cython.cfunc
    def _bulk_start(self, index: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Where the `$` of a word is: after the word before it."""
        # The first word is the command's name, which no handler takes unparsed.
        return self._places[2 * index - 2] + self._places[2 * index - 1] + 2


def words_of_all(data: bytes) -> list[list[bytes]]:
    """The words of each of the plain requests that data begins with."""
    cutter, found = Cutter(), []
    cutter.load(data)
    while cutter.next():
        found.append(cutter.words())
    return found


# -- hash slots of Redis Cluster ---------------------------------------------------------------

if not cython.compiled:
    _REMAINDERS = [0] * 256  # compiled, an array of C


def _fill_remainders() -> None:
    """The remainder of each byte, by the polynomial 0x1021."""
    byte: cython.uint
    remainder: cython.uint
    for byte in range(256):
        remainder = byte << 8
        for _ in range(8):
            remainder = (remainder << 1) ^ 0x1021 if remainder & 0x8000 else remainder << 1
        _REMAINDERS[byte] = remainder & 0xFFFF


_fill_remainders()


def key_slot(key: bytes) -> cython.uint:
    """The slot of a key, or of a shard channel: 0 to 16383.

    CRC16-XMODEM of the key, or of its tag: `{` and the first `}` after it enclose a tag. If it is
    not empty, only its bytes count, so keys with the same tag are in the same slot.
    """
    return slot_of_part(key, 0, len(key))


@cython.boundscheck(False)
@cython.wraparound(False)
def slot_of_part(
    data: cython.p_const_uchar, start: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.uint:
    """The slot of the key that `data` has from `start` to before `end`."""
    place: cython.Py_ssize_t
    opening: cython.Py_ssize_t
    for opening in range(start + 1, end):
        if data[opening - 1] == 123:  # {
            for place in range(opening, end):
                if data[place] == 125:  # }
                    if place > opening:
                        start, end = opening, place
                    break
            break
    remainder: cython.uint = 0
    for place in range(start, end):
        remainder = ((remainder << 8) & 0xFFFF) ^ _REMAINDERS[(remainder >> 8) ^ data[place]]
    return remainder & _MASK


def pattern_slot(pattern: bytes) -> int | None:
    """The only slot of the keys that match a glob pattern; None if they may be in several."""
    places = [place for each in _WILDCARDS if (place := pattern.find(each)) >= 0]
    if not places:
        return key_slot(pattern)
    literal = pattern[: min(places)]
    start = literal.find(b"{")
    end = literal.find(b"}", start + 1)
    # Without an end before the first wildcard, the tag of each key may be another.
    return key_slot(literal) if 0 <= start < end - 1 else None


# -- interpreted -------------------------------------------------------------------------------

if not cython.compiled:
    _PART_BYTES = 16 * 1024  # for hiredis at a time: the first request may halt the client
    # What hiredis returns when it needs more bytes: an object that no bytes can produce.
    _NOTHING = object()
    # Array headers of two digits or more, at any place: hiredis nests them a thousand deep. One
    # digit is harmless: a list of nine takes 144 bytes, and its header four.
    _LONG_HEADER = re.compile(rb"[*~>|](\d{2,19})")
    _COUNT = re.compile(rb"\*([1-9]\d{0,17})\r\n")
    _LENGTH = re.compile(rb"\$(0|[1-9]\d{0,17})\r\n")

    class ParsedRequests(Request):
        """`Cutter` where nothing is compiled: hiredis parses the requests of a batch into words.

        hiredis is a parser of replies. It accepts much that is not a request, and it allocates a
        list for an array header before the elements have arrived. So it gets no headers that
        announce more elements than the bytes can hold, and its result counts only if it makes the
        same bytes when it is encoded. What it may not read is read word by word.
        """

        def __init__(self) -> None:
            super().__init__([])
            self.load(b"")

        def load(self, data: bytes, position: int = 0) -> None:
            """Begin with a new batch, at a position of its bytes."""
            self.data, self.position = data, position
            self._reader = hiredis.Reader(notEnoughData=_NOTHING)
            self._fed = position
            self._free_bytes = len(data) - position  # that no header has announced words for

        def next(self) -> bool:
            """Find the request at `position` and move past it; False if there is no plain one."""
            if not self.data.startswith(b"*", self.position):
                return False
            words = self._parse()
            if words is None:
                words = self._walk()
                if words is None:
                    return False
                self.load(self.data, self.position + len(replies.command(words)))
            self._words, self.count, self.takes_long = words, len(words), False
            return True

        def keep(self) -> Request:
            return unparsed(self.whole(), self.count)

        def _parse(self) -> list[bytes] | None:
            """The words of the request at `position`, by hiredis; None if it cannot read them."""
            try:
                while (words := self._reader.gets()) is _NOTHING:
                    if not self._feed():
                        return None
                wire = hiredis.pack_command(tuple(words))
            except (hiredis.HiredisError, TypeError):
                return None  # not RESP, or an element that is not a string
            if not words or not self.data.startswith(wire, self.position):
                return None
            self.position += len(wire)
            return words  # type: ignore[no-any-return]

        def _feed(self) -> bool:
            """Give hiredis further bytes; False if there are none, or it may not have them."""
            end = self._fed + _PART_BYTES
            part = self.data[self._fed : end]
            # A header may begin in this part and end in the next one.
            for announced in _LONG_HEADER.findall(self.data[self._fed : end + 20]):
                self._free_bytes -= int(announced) * _LEAST_WORD_BYTES
            if not part or self._free_bytes < 0:
                return False
            self._reader.feed(part)
            self._fed += len(part)
            return True

        def _walk(self) -> list[bytes] | None:
            """The words of the request at `position`, one by one; None if it is not plain."""
            header = _COUNT.match(self.data, self.position)
            if header is None:
                return None
            words, place = [], header.end()
            for _ in range(int(header[1])):
                length = _LENGTH.match(self.data, place)
                if length is None:
                    return None
                start = length.end()
                place = start + int(length[1]) + 2
                if self.data[place - 2 : place] != b"\r\n":
                    return None
                words.append(self.data[start : place - 2])
            return words

    Cutter = ParsedRequests  # type: ignore[misc,assignment]
