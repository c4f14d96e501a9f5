"""The options on the time to live of SET and GETEX: EX, PX, EXAT, PXAT, KEEPTTL, PERSIST."""

from __future__ import annotations

from commands.core.arguments import INT64_MAX, Arguments, parse_int
from protocol import errors
from protocol.errors import ReplyError
from protocol.records import record

# Option -> (its unit in ms, whether it counts from now on rather than from the epoch).
_UNITS = {b"EX": (1000, True), b"PX": (1, True), b"EXAT": (1000, False), b"PXAT": (1, False)}


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


def parse_deadline(amount: bytes, unit_ms: int, base_ms: int, command: bytes) -> int:
    """The Unix time in ms that lies `amount` units after `base_ms`.

    Raises ReplyError if the amount is no positive number, or if the time has no 64 bits.
    """
    count = parse_int(amount)
    if count <= 0 or count * unit_ms + base_ms > INT64_MAX:
        raise errors.invalid_expire_time(command)
    return count * unit_ms + base_ms
