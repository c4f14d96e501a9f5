"""Entry IDs: one int each, `ms << 64 | seq`, and their text form `<ms>-<seq>`.

As plain ints they are compact, hashable and compare in stream order. Both halves are unsigned
64-bit numbers, so every ID lies between MIN_ID (0-0) and MAX_ID. Compiled, an ID is a C number of
128 bits where it has the type `entry_id_t`: no object is made of it, and MAX_ID + 1 is 0.

The parsers accept the same texts as Redis 7.0.15. It copies the text into a C
string and reads each half with `strtoull`, which has effects that clients can see:

* leading zeros, leading blanks and one leading `+` are tolerated (`007-1` is 7-1);
* everything from a NUL byte on is ignored;
* the sequence may carry a minus sign that wraps around (`1--05` is 1-18446744073709551611),
  except where the plain 64-bit reader that is tried first already sees a negative number (`1--5`).

The commands parse special IDs (`-`, `+`, `$`, `>`, `*` and the `(` prefix).
"""

from __future__ import annotations

import re
from typing import TypeAlias

import cython

EntryID: TypeAlias = int

SEQ_BITS = 64
MAX_SEQ = 2**64 - 1
MIN_ID: EntryID = 0
MAX_ID: EntryID = 2**128 - 1

_LAST_SEQ: cython.ulonglong = MAX_SEQ

# Longer texts do not fit into the buffer of Redis's parser, and are refused.
MAX_TEXT_BYTES = 127

# Two numbers and a dash below this length have at most 19 digits each, less than 2**64.
PLAIN_TEXT_BYTES = 22

# Numbers of up to this many digits are less than 2**64.
_PLAIN_DIGITS: cython.Py_ssize_t = 19

# The syntax of C's strtoull: blanks as in isspace(), one sign, decimal digits.
_NUMBER = re.compile(rb"[ \t\n\v\f\r]*([+-]?)([0-9]+)")
# The texts that Redis's own 64-bit parser, tried first, accepts as negative numbers.
_PLAIN_NEGATIVE = re.compile(rb"-[1-9][0-9]*")


def make_id(ms: cython.ulonglong, seq: cython.ulonglong) -> EntryID:
    """The ID of millisecond `ms` and sequence number `seq`."""
    entry_id = ms  # compiled, it has 128 bits from here on
    return entry_id << 64 | seq


def id_ms(entry_id: EntryID) -> cython.ulonglong:
    """The millisecond half of an ID."""
    return entry_id >> 64


def id_seq(entry_id: EntryID) -> cython.ulonglong:
    """The sequence half of an ID."""
    return entry_id & _LAST_SEQ


def format_id(entry_id: EntryID) -> bytes:
    """The text clients see, such as b"1700000000000-0"."""
    return b"%d-%d" % (entry_id >> SEQ_BITS, entry_id & MAX_SEQ)


def parse_id(text: bytes, missing_seq: int = 0) -> EntryID | None:
    """The ID that `text` names, or None where Redis calls it invalid.

    `<ms>` alone stands for `<ms>-<missing_seq>`: 0, or MAX_SEQ at the end of a range.
    """
    ms, dash, seq = text.partition(b"-")
    # Nearly every ID is plain digits; isdigit() of bytes knows only the ASCII ones.
    if dash and ms.isdigit() and seq.isdigit() and len(text) <= MAX_TEXT_BYTES:
        if len(text) < PLAIN_TEXT_BYTES:
            return int(ms) << SEQ_BITS | int(seq)
        entry_id = int(ms) << SEQ_BITS | int(seq)
        if entry_id <= MAX_ID and int(seq) <= MAX_SEQ:
            return entry_id
        return None
    parts = parse_partial_id(text, missing_seq)
    if parts is None or parts[1] is None:
        return None
    return make_id(parts[0], parts[1])


@cython.cclass
class PlainID:
    """Reads IDs in canonical form without making an object; `ms` and `seq` are the last one's."""

    def __init__(self) -> None:
        self.ms = self.seq = 0

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def read(self, text: bytes) -> bool:
        """Read an ID; False for any text in another form, an ID or not."""
        data: cython.p_const_uchar = text
        length: cython.Py_ssize_t = len(text)
        if length < 3 or length > 2 * _PLAIN_DIGITS + 1:
            return False
        place: cython.Py_ssize_t = 0
        start: cython.Py_ssize_t
        half: cython.Py_ssize_t
        digit: cython.int
        number: cython.ulonglong = 0
        for half in range(2):
            start = place
            number = 0
            while place < length:
                digit = data[place] - 48
                if digit < 0 or digit > 9:
                    break
                number = number * 10 + digit
                place += 1
            digits: cython.Py_ssize_t = place - start
            if digits == 0 or digits > _PLAIN_DIGITS or (data[start] == 48 and digits > 1):
                return False
            if half == 0:
                self.ms = number
                if place == length or data[place] != 45:  # -
                    return False
                place += 1
        self.seq = number
        return place == length


_PLAIN_ID = PlainID()


@cython.ccall
def parse_plain_id(text: bytes) -> EntryID | None:
    """The ID if `text` is in canonical form; None for any other text, an ID or not."""
    plain: PlainID = _PLAIN_ID
    return make_id(plain.ms, plain.seq) if plain.read(text) else None


def parse_partial_id(text: bytes, missing_seq: int = 0) -> tuple[int, int | None] | None:
    """(ms, seq) of an ID as XADD takes it; seq is None for `<ms>-*`. None where it is invalid."""
    if len(text) > MAX_TEXT_BYTES:
        return None
    ms_text, dash, seq_text = text.partition(b"\0")[0].partition(b"-")
    ms = _parse_number(ms_text)
    if ms is None:
        return None
    if not dash:
        return ms, missing_seq
    if seq_text == b"*":
        return ms, None
    seq = _parse_number(seq_text)
    return None if seq is None else (ms, seq)


def _parse_number(text: bytes) -> int | None:
    """An unsigned 64-bit number as Redis reads it from one half of an ID, or None."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    sign, digits = match.groups()
    value = int(digits)
    if value > MAX_SEQ:
        return None
    if sign == b"-":
        if _PLAIN_NEGATIVE.fullmatch(text) and value <= 2**63:
            return None
        return -value % 2**64
    return value
