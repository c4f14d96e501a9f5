"""IFEQ, IFNE, IFDEQ and IFDNE: conditions on the string that a key holds (Redis 8.4).

The last two compare digests, so that a client need not send a large value again.
"""

from __future__ import annotations

import xxhash

from protocol import errors
from protocol.errors import ReplyError
from protocol.records import frozen_record
from storage.types.value import StringValue

CONDITIONS = (b"IFEQ", b"IFNE", b"IFDEQ", b"IFDNE")
_BY_DIGEST = (b"IFDEQ", b"IFDNE")
_IF_EQUAL = (b"IFEQ", b"IFDEQ")

_DIGEST_DIGITS = 16
_HEXADECIMAL = b"0123456789abcdef"


def digest(data: bytes | bytearray) -> bytes:
    """XXH3 of 64 bits, as hexadecimal digits in lower case."""
    return b"%016x" % xxhash.xxh3_64_intdigest(bytes(data))


@frozen_record
class Condition:
    """One condition; made by `parse_condition`."""

    word: bytes
    operand: bytes

    def holds(self, value: StringValue | None) -> bool:
        """Return True if the condition is met. A missing key is unequal to every value."""
        if value is None:
            return self.word not in _IF_EQUAL
        content = digest(value.data) if self.word in _BY_DIGEST else value.to_bytes()
        return (content == self.operand) == (self.word in _IF_EQUAL)


def parse_condition(word: bytes, operand: bytes) -> Condition:
    """`word`: one of CONDITIONS. Raises ReplyError if a digest is none."""
    if word in _BY_DIGEST:
        operand = operand.lower()
        if len(operand) != _DIGEST_DIGITS or operand.strip(_HEXADECIMAL):
            raise ReplyError(errors.NOT_A_DIGEST)
    return Condition(word, operand)
