"""The options of policies: flags of `rillway policy`, and words of XCFGSET and XGROUP CONFIG.

A value is an int (milliseconds, bytes, a number), a bool, a str, or a tuple of milliseconds. `OFF`
is the value that switches an option off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from rillway.pipeline.wire.quantities import parse_bytes, parse_duration
from rillway.text import duration, size

Value: TypeAlias = int | bool | str | tuple[int, ...]
OFF = ""
MOST_FIELD_BYTES = 512
REFERENCES = ("keepref", "delref", "acked")


class Setting(NamedTuple):
    """One option.

    `word`: its name on the wire; `read` turns an argument into a value and raises ValueError;
    `show` turns a value into text for people; `off`: the words that switch it off.
    """

    word: str
    flag: str
    read: Callable[[str], Value]
    show: Callable[[Any], str]
    metavar: str
    help: str
    off: str = "0"

    @property
    def name(self) -> str:
        """The option's name in XINFO POLICY and in JSON."""
        return self.word.lower()

    def words(self, value: Value) -> list[str]:
        """Return the option and its value as words of a request."""
        if value == OFF:
            return [self.word, self.off]
        if isinstance(value, bool):
            return [self.word, "yes" if value else "no"]
        if isinstance(value, tuple):
            return [self.word, *map(str, value)]
        return [self.word, str(value)]


def milliseconds(text: str) -> int:
    """Parse a duration to whole milliseconds. Raises ValueError."""
    ms = round(parse_duration(text) * 1000)
    if ms < 1:
        raise ValueError(f"expected a time of at least 1 ms, or off; not {text!r}")
    return ms


def waits(text: str) -> tuple[int, ...]:
    """Parse `1s,10s,1m` to milliseconds. Raises ValueError."""
    return tuple(round(parse_duration(part) * 1000) for part in text.split(","))


def number(text: str) -> int:
    """Parse a number above 0. Raises ValueError."""
    if not (text.isascii() and text.isdecimal()) or int(text) < 1:
        raise ValueError(f"expected a number above 0, or off; not {text!r}")
    return int(text)


def yes_or_no(text: str) -> bool:
    if text not in ("yes", "no"):
        raise ValueError(f"expected yes or no, not {text!r}")
    return text == "yes"


def references(text: str) -> str:
    if text.lower() not in REFERENCES:
        raise ValueError(f"expected one of {', '.join(REFERENCES)}, not {text!r}")
    return text.upper()


def key(text: str) -> str:
    if not text:
        raise ValueError("expected the name of a stream, or off")
    return text


def field(text: str) -> str:
    if not 0 < len(text.encode(errors="surrogateescape")) <= MOST_FIELD_BYTES:
        raise ValueError(f"expected the name of a field of up to {MOST_FIELD_BYTES} bytes, or off")
    return text


def plain(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def whole(ms: float) -> str:
    """A duration as it was set: `30 s`, `7 d`, `1.5 s`, `250 ms`."""
    if ms < 1000:
        return f"{ms:g} ms"
    if ms < 60_000:
        return f"{ms / 1000:g} s"
    return duration(ms)


def times(value: tuple[int, ...]) -> str:
    return ", ".join(map(whole, value))


def word_yes(value: bool) -> str:
    return "yes" if value else "no"


STREAM_SETTINGS = (
    Setting("RETAIN-MS", "--retain", milliseconds, whole, "TIME",
            "remove entries that are older, such as 7d"),
    Setting("RETAIN-LEN", "--retain-len", number, plain, "N",
            "remove the oldest entries beyond this number"),
    Setting("RETAIN-BYTES", "--retain-bytes", parse_bytes, size, "SIZE",
            "remove the oldest entries beyond this size of fields and values, such as 2gb"),
    Setting("RETAIN-REFS", "--retain-refs", references, str.lower, "RULE",
            "what happens to references of groups: keepref (they stay), delref (they go along), "
            "acked (an entry stays until each living group has acknowledged it)", "KEEPREF"),
    Setting("RETAIN-ACKED", "--retain-acked", yes_or_no, word_yes, "yes|no",
            "remove an entry once each group has acknowledged it", "no"),
    Setting("RETAIN-HARD-BYTES", "--retain-hard-bytes", parse_bytes, size, "SIZE",
            "remove the oldest entries beyond this size, acknowledged or not"),
    Setting("GROUP-MAX-IDLE", "--group-max-idle", milliseconds, whole, "TIME",
            "with acked: a group that did nothing for this long is no longer waited for"),
)  # fmt: skip

GROUP_SETTINGS = (
    Setting("ACK-WAIT", "--ack-wait", milliseconds, whole, "TIME",
            "deliver an entry again that is not acknowledged within this time"),
    Setting("BACKOFF", "--backoff", waits, times, "TIMES",
            "the pause before each further delivery, such as 1s,10s,1m; the last one repeats"),
    Setting("MAX-DELIVERIES", "--max-deliveries", number, plain, "N",
            "after this many deliveries an entry moves to the dead letters"),
    Setting("DEAD-LETTER", "--dead-letter", key, str, "STREAM",
            "the stream of dead letters", ""),
    Setting("MAX-PENDING", "--max-pending", number, plain, "N",
            "deliver nothing new while this many entries are being worked on"),
    Setting("CONSUMER-EXPIRY", "--consumer-expiry", milliseconds, whole, "TIME",
            "delete a consumer that was not seen for this long; its entries go to others"),
    Setting("KEY-FIELD", "--key-field", field, repr, "NAME",
            "deliver entries with the same value of this field in order, to one consumer at a time",
            ""),
    Setting("KEY-LOOKAHEAD", "--key-lookahead", number, plain, "N",
            "keep up to this many entries for the consumers that have their keys (120,000)"),
    Setting("KEY-LOOKAHEAD-KEY", "--key-lookahead-key", number, plain, "N",
            "the same, of one key (10,000)"),
)  # fmt: skip


def read(setting: Setting, text: str) -> Value:
    """Return the value of an argument; `off` is OFF. Raises ValueError."""
    return OFF if text.strip().lower() == "off" else setting.read(text)


def from_reply(settings: tuple[Setting, ...], reply: Mapping[str, object]) -> dict[str, Value]:
    """Return the values of a reply to XINFO POLICY, without options that are off."""
    found: dict[str, Value] = {}
    for setting in settings:
        value = reply.get(setting.name)
        if isinstance(value, list | tuple):
            value = tuple(int(each) for each in value)
        elif isinstance(value, bytes):
            value = value.decode(errors="surrogateescape")
            if setting.read is yes_or_no:
                value = value == "yes"
        elif isinstance(value, int) and setting.read is yes_or_no:
            value = bool(value)
        if value in (None, 0, "", (), False) or value == setting.off:
            continue
        assert isinstance(value, int | bool | str | tuple)
        found[setting.name] = value
    return found
