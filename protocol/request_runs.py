"""Runs: requests that one client sent together and that begin with the same words.

Producers repeat themselves: `XADD readings * data <value>` again and again. The bytes that come
again are the same in each request, and to cut a batch where they occur finds all requests at once,
in a third of the time of reading each.

* A `RequestRun` is of requests that are alike but for their last word.
* A `TailRun` is of requests of as many words, the first of which come again; how many, says who
  knows the command.

Guaranteed: the requests of a run are those that the scanner of protocol/requests.py would have
read. The head, which stands before what differs, is read word by word. Behind it there have to be
exactly the bulk strings that are missing, and behind these the next head; so what the scanner
would read next is known from each request to the following one, whatever the values may contain.

Left out: words of more than `MAX_WORD_BYTES` in a head or a RequestRun, limits (the reader looks
only at batches that cannot pass any), reading what differs in a TailRun (the reader does).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import TypeAlias

# Longer words are few in a batch: there is nothing to gain.
MAX_WORD_BYTES = 2048

# How many of the first words of a request are likely to come again; 0 if none.
CountShared: TypeAlias = Callable[[list[bytes]], int]

# In shorter runs there is nothing to gain.
MIN_REQUESTS = 4

_MAX_WORDS = 64

_CRLF = b"\r\n"
_BULK_HEADERS = [b"$%d\r\n" % length for length in range(MAX_WORD_BYTES)]
_LENGTHS = {header: length for length, header in enumerate(_BULK_HEADERS)}
_COUNTS = {b"*%d\r\n" % count: count for count in range(2, _MAX_WORDS)}
_HEADER_OF = {len(header) + length: header for header, length in _LENGTHS.items()}
# By the length of a bulk string without the CRLF at its end: the only header that it can have. No
# bulk string has one of the other lengths: there it is something too long for it to begin with.
_HEADERS_BY_LENGTH = [
    _HEADER_OF.get(length, bytes(length + 1)) for length in range(max(_HEADER_OF) + 1)
]


class RequestRun:
    """Requests that are alike but for their last word.

    `words`: what they share; at least one. `bulks`: the last word of each, as a bulk string
    without the CRLF behind it. `width`: how many words each has.
    """

    __slots__ = ("bulks", "width", "words")

    def __init__(self, words: list[bytes], bulks: list[bytes]) -> None:
        self.words = words
        self.bulks = bulks
        self.width = len(words) + 1

    def __len__(self) -> int:
        return len(self.bulks)

    def __getitem__(self, index: int) -> list[bytes]:
        bulk = self.bulks[index]
        return [*self.words, bulk[bulk.index(b"\n") + 1 :]]

    def requests(self) -> list[list[bytes]]:
        """Each of them by itself."""
        return [self[index] for index in range(len(self))]


class TailRun:
    """Requests of as many words that begin with the same ones.

    `words`: what they share; at least one. `tails`: the other words of each, as bulk strings one
    behind the other. `rows`: these words by themselves; at least two. `width`: how many words each
    request has.
    """

    __slots__ = ("rows", "tails", "width", "words")

    def __init__(self, words: list[bytes], tails: list[bytes], rows: list[list[bytes]]) -> None:
        self.words = words
        self.tails = tails
        self.rows = rows
        self.width = len(words) + len(rows[0])

    def __len__(self) -> int:
        return len(self.tails)

    def __getitem__(self, index: int) -> list[bytes]:
        return self.words + self.rows[index]

    def requests(self) -> list[list[bytes]]:
        """Each of them by itself."""
        return [self.words + row for row in self.rows]


class Head:
    """What the requests of a run share: the bytes before what differs, and their words.

    `tail_words`: how many words differ.
    """

    __slots__ = ("data", "tail_words", "words")

    def __init__(self, data: bytes, words: list[bytes], tail_words: int) -> None:
        self.data = data
        self.words = words
        self.tail_words = tail_words

    @classmethod
    def of(cls, data: bytes, count_shared: CountShared | None = None) -> Head | None:
        """The head of the request at the start of `data`, if the next one begins with it, too.

        `count_shared` tells how many of the first words of a request are likely to come again, if
        not all but the last; 0: no number of them.
        """
        position = data.find(b"\n", 0, 5) + 1
        count = _COUNTS.get(data[:position], 0)
        words: list[bytes] = []
        ends = [position]
        for _ in range(count):
            start = data.find(b"\n", ends[-1], ends[-1] + 8) + 1
            if not start:
                return None
            length = _LENGTHS.get(data[ends[-1] : start], -1)
            end = start + length
            if length < 0 or data[end : end + 2] != _CRLF:
                return None
            words.append(data[start:end])
            ends.append(end + 2)
        if not count:
            return None
        shared = count - 1
        if not data.startswith(data[: ends[shared]], ends[count]):
            shared = count_shared(words) if count_shared is not None else 0
            # The same line within the head could be taken for the beginning of another one.
            is_clear = data.find(data[:position], 1, ends[shared]) < 0
            if not 0 < shared < count - 1 or not is_clear:
                return None
            if not data.startswith(data[: ends[shared]], ends[count]):
                return None
        return cls(data[: ends[shared]], words[:shared], count - shared)

    def may_come_again(self, data: bytes) -> bool:
        """Whether data looks like several requests with this head."""
        if not data.startswith(self.data):
            return False
        if self.tail_words == 1:
            return len(data) > len(self.data) * MIN_REQUESTS
        return data.find(self.data, len(self.data)) > 0


def cut_tails(data: bytes, head: Head) -> tuple[list[bytes], bytes] | None:
    """What stands behind each of these heads, with which `data` begins, and the bytes behind that.

    Whether these are as many bulk strings as they have to be, the reader finds out. None if they
    are too few.
    """
    tails = data.split(head.data)
    del tails[0]  # before the first head
    rest = b""
    last = tails[-1]
    if last.count(_CRLF) != 2 * head.tail_words or not last.endswith(_CRLF):
        del tails[-1]
        rest = head.data + last
    return (tails, rest) if len(tails) >= MIN_REQUESTS else None


def cut_run(data: bytes, head: Head) -> tuple[RequestRun, bytes] | None:
    """The requests with this head, with which `data` begins, and the bytes behind them.

    None if there are too few of them, or if other requests or malformed ones stand in between.
    """
    bulks = data.split(_CRLF + head.data)
    if len(bulks) < MIN_REQUESTS + 1:
        return None
    start = len(head.data)
    bulks[0] = bulks[0][start:]
    last = bulks[-1]
    if last.endswith(_CRLF):
        bulks[-1] = last[:-2]
        if _are_bulks(bulks, data, start):
            return RequestRun(head.words, bulks), b""
    del bulks[-1]
    if not _are_bulks(bulks, data, start):
        return None
    return RequestRun(head.words, bulks), head.data + last


def _are_bulks(texts: list[bytes], data: bytes, start: int) -> bool:
    """Whether each text is exactly one bulk string without its last CRLF.

    They were cut from `data`: before each, there are a CRLF and `start` bytes, and no CRLF before
    the first one.
    """
    lengths = set(map(len, texts))
    if max(lengths) >= len(_HEADERS_BY_LENGTH):
        return False
    if len(lengths) > 1:
        headers = map(_HEADERS_BY_LENGTH.__getitem__, map(len, texts))
        return all(map(bytes.startswith, texts, headers))
    # All are as long as the first one: each byte of their header is looked at for all at once.
    length, count = lengths.pop(), len(texts)
    step = len(_CRLF) + start + length
    end = start + step * count
    for place, byte in enumerate(_HEADERS_BY_LENGTH[length], start):
        if data[place:end:step].count(byte) < count:
            return False
    return True


def join_run(requests: list[bytes], start: bytes, words: list[bytes]) -> RequestRun | None:
    """The run that requests are that came one by one; None if it is not one.

    `start`: the bytes before the last word of each, and `words`: the words in them.
    """
    if not all(map(bytes.startswith, requests, repeat(start))):
        return None
    if not all(map(bytes.endswith, requests, repeat(_CRLF))):
        return None
    place = len(start)
    bulks = [data[place:-2] for data in requests]
    lengths = list(map(len, bulks))
    if max(lengths) >= len(_HEADERS_BY_LENGTH):
        return None
    headers = map(_HEADERS_BY_LENGTH.__getitem__, lengths)
    return RequestRun(words, bulks) if all(map(bytes.startswith, bulks, headers)) else None


def take_bulk(data: bytes, start: int) -> bytes | None:
    """The text of the bulk string that the data from `start` on are; None if they are not one."""
    length = len(data) - start - len(_CRLF)
    if not 0 < length < len(_HEADERS_BY_LENGTH):
        return None
    header = _HEADERS_BY_LENGTH[length]
    if not data.startswith(header, start) or not data.endswith(_CRLF):
        return None
    return data[start + len(header) : -2]
