"""Runs: requests that one client sent together and that are alike but for their last word.

Producers repeat themselves: `XADD readings * data <value>` again and again. The bytes before the
last word are then the same in each request, and to cut a batch where they occur finds all requests
at once, in a third of the time of reading each.

Guaranteed: the requests of a run are those that the scanner of protocol/requests.py would have
read. The head, all that stands before the last word, is read word by word. Behind it there has to
be exactly one bulk string, and behind that the next head; so what the scanner would read next is
known from each request to the following one, whatever the values may contain.

Left out: requests that differ in more than their last word, words of more than `MAX_WORD_BYTES`,
limits (the reader looks only at batches that cannot pass any).
"""

from __future__ import annotations

from itertools import repeat

# Longer words are few in a batch: there is nothing to gain.
MAX_WORD_BYTES = 2048

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
    without the CRLF behind it.
    """

    __slots__ = ("bulks", "words")

    def __init__(self, words: list[bytes], bulks: list[bytes]) -> None:
        self.words = words
        self.bulks = bulks

    def __len__(self) -> int:
        return len(self.bulks)

    def __getitem__(self, index: int) -> list[bytes]:
        bulk = self.bulks[index]
        return [*self.words, bulk[bulk.index(b"\n") + 1 :]]

    def requests(self) -> list[list[bytes]]:
        """Each of them by itself."""
        return [self[index] for index in range(len(self))]


class Head:
    """What the requests of a run share: the bytes before the last word, and their words."""

    __slots__ = ("data", "words")

    def __init__(self, data: bytes, words: list[bytes]) -> None:
        self.data = data
        self.words = words

    @classmethod
    def of(cls, data: bytes) -> Head | None:
        """The head of the request at the start of `data`, if the next one begins with it, too."""
        position = data.find(b"\n", 0, 5) + 1
        count = _COUNTS.get(data[:position], 0)
        words: list[bytes] = []
        end = position
        for _ in range(count):
            start = data.find(b"\n", end, end + 8) + 1
            length = _LENGTHS.get(data[end:start], -1)
            if length < 0 or data[start + length : start + length + 2] != _CRLF:
                return None
            position = end
            words.append(data[start : start + length])
            end = start + length + 2
        if not count or not data.startswith(data[:position], end):
            return None
        return cls(data[:position], words[:-1])


def cut_run(data: bytes, head: Head) -> tuple[RequestRun, bytes] | None:
    """The requests with this head, with which `data` begins, and the bytes behind them.

    None if there are too few of them, or if other requests or malformed ones stand in between.
    """
    bulks = data.split(_CRLF + head.data)
    if len(bulks) < MIN_REQUESTS + 1:
        return None
    bulks[0] = bulks[0][len(head.data) :]
    last = bulks[-1]
    if last.endswith(_CRLF):
        bulks[-1] = last[:-2]
        if _are_bulks(bulks):
            return RequestRun(head.words, bulks), b""
    del bulks[-1]
    return (RequestRun(head.words, bulks), head.data + last) if _are_bulks(bulks) else None


def _are_bulks(texts: list[bytes]) -> bool:
    """Whether each text is exactly one bulk string without its last CRLF."""
    lengths = set(map(len, texts))
    if max(lengths) >= len(_HEADERS_BY_LENGTH):
        return False
    if len(lengths) == 1:
        headers = repeat(_HEADERS_BY_LENGTH[lengths.pop()])
        return all(map(bytes.startswith, texts, headers))
    return all(map(bytes.startswith, texts, map(_HEADERS_BY_LENGTH.__getitem__, map(len, texts))))
