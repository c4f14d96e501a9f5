"""Options of commands on strings: conditions, and times to live; DIGEST and DELEX.

IFEQ and IFNE compare the string that a key holds, IFDEQ and IFDNE its digest, so that a client need
not send a large value again (Redis 8.4). DELEX deletes by such a condition. EX, PX, EXAT, PXAT,
KEEPTTL and PERSIST are the options on the time to live of SET and GETEX.
"""

from __future__ import annotations

from collections.abc import Sequence

import xxhash

from commands.core.arguments import Arguments, parse_deadline
from commands.core.client import Client
from commands.core.registry import FAST, READONLY, WRITE, command, one_key, one_varying_key
from commands.keys.existence import delete
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import frozen_record, record
from protocol.request import Request
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


# Option -> (its unit in ms, whether it counts from now on rather than from the epoch).
_UNITS = {b"EX": (1000, True), b"PX": (1, True), b"EXAT": (1000, False), b"PXAT": (1, False)}
# The same, by the usual spellings.
SPELLED_UNITS = _UNITS | {option.lower(): unit for option, unit in _UNITS.items()}


@record
class Lifetime:
    """One option about the time to live; none yet when `option` is empty."""

    option: bytes = b""
    amount: bytes = b""

    def take(self, word: bytes, arguments: Arguments, bare_option: bytes) -> bool:
        """Take `word` (upper case) with its amount if it is such an option; False if not.

        `bare_option` is the one that the command knows besides those with an amount. The same
        option may come again, its last amount counts; raises `syntax error` if two differ.
        """
        if word != bare_option and word not in _UNITS:
            return False
        if self.option not in (b"", word):
            raise ReplyError(errors.SYNTAX)
        self.option = word
        if word in _UNITS:
            self.amount = arguments.next()
        return True

    def deadline_ms(self, command: bytes, now_ms: int) -> int | None:
        """The Unix time in ms that was given, None if none was.

        Raises ReplyError, in which `command` (lower case) is named.
        """
        if self.option not in _UNITS:
            return None
        unit_ms, from_now_on = _UNITS[self.option]
        return parse_deadline(self.amount, unit_ms, now_ms if from_now_on else 0, command)


# Digests of long strings take long: not quick.
@command("DIGEST", arity=2, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"), is_quick=False)
def digest_(client: Client, argv: Request) -> bytes:
    """Bulk string of 16 hexadecimal digits; null without the key. Source: Redis 8.4."""
    value = client.lookup_string(argv[1])
    return replies.bulk_or_nil(None if value is None else digest(value.data), client.resp)


def _key_flags(argv: Sequence[bytes]) -> tuple[bytes, ...]:
    """DELEX without a condition is DEL."""
    return (b"RW", b"ACCESS", b"DELETE") if len(argv) > 2 else (b"RM", b"DELETE")


@command(
    "DELEX",
    arity=-2,
    flags=WRITE | FAST,
    keys=one_varying_key(_key_flags, b"RW", b"DELETE"),
    is_quick=False,
)
def delex(client: Client, argv: Request) -> bytes:
    """Integer: 1 if it was removed. Without a condition it may be of any type.

    Source: Redis 8.4.
    """
    if len(argv) not in (2, 4):
        raise errors.wrong_arity(b"delex")
    condition = None
    if len(argv) == 4:
        if argv[2].upper() not in CONDITIONS:
            raise ReplyError(errors.SYNTAX)
        condition = parse_condition(argv[2].upper(), argv[3])
    key = argv[1]
    value = client.lookup_for_write(key)
    if value is None:
        return replies.ZERO
    if condition is not None:
        if not isinstance(value, StringValue):
            raise ReplyError(errors.CONDITION_NEEDS_STRING)
        if not condition.holds(value):
            return replies.ZERO
    delete(client, key)
    client.propagate(b"DEL", key)
    return replies.ONE
