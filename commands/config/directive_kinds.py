"""The types of configuration directives: parsing and formatting of their values.

A kind is independent of files and commands. `parse` takes the directive's words, as a line of a
file or one argument of CONFIG SET gives them, and raises ValueError with Redis's own text; `format`
gives the text that CONFIG GET answers; `words` the words that CONFIG REWRITE writes.

Source: the texts and bounds of Redis 7 (CONFIG SET of a running server).
"""

from __future__ import annotations

import re
from typing import Any

from commands.core import notifications
from protocol.records import frozen_record
from storage.types.value import as_int64

INT32_MIN = -(2**31)
INT32_MAX = 2**31 - 1
UINT64_MAX = (1 << 64) - 1
INT64_MAX = 2**63 - 1


class Kind:
    """One type of directive."""

    expected = ""  # a description of a valid value, for the error at start
    choices: tuple[str, ...] = ()  # the values, where they are a few words
    takes_several_words = False
    takes_no_words = False  # whether a line of a file may have the name alone

    def parse(self, words: list[str]) -> Any:
        """The value. Raises ValueError with a text that says what is wrong."""
        raise NotImplementedError

    def format(self, value: Any) -> str:
        """The value as CONFIG GET prints it."""
        raise NotImplementedError

    def words(self, value: Any) -> list[str]:
        """The value as the words of one line of a file."""
        text = self.format(value)
        return (text.split() or [""]) if self.takes_several_words else [text]

    def combine(self, old: Any, new: Any) -> Any:
        """The value in force after `new` was set over `old`."""
        return new

    def extend(self, old: Any, new: Any) -> Any:
        """The value in force after a further line of the same file with `new`."""
        return self.combine(old, new)


def one_word(words: list[str]) -> str:
    """The only word. Raises ValueError if there are more or none."""
    if len(words) != 1:
        raise ValueError("wrong number of arguments")
    return words[0]


class Boolean(Kind):
    """yes or no."""

    expected = "'yes' or 'no'"
    choices = ("yes", "no")

    def parse(self, words: list[str]) -> bool:
        word = one_word(words).lower()
        if word not in ("yes", "no"):
            raise ValueError(f"argument must be {self.expected}")
        return word == "yes"

    def format(self, value: bool) -> str:
        return "yes" if value else "no"


class Integer(Kind):
    """A number within bounds."""

    def __init__(self, minimum: int, maximum: int) -> None:
        self.minimum, self.maximum = minimum, maximum
        self.expected = f"an integer between {minimum} and {maximum}"

    def parse(self, words: list[str]) -> int:
        number = as_int64(one_word(words).encode("utf-8", "surrogateescape"))
        if number is None:
            raise ValueError("argument couldn't be parsed into an integer")
        return self.check(number)

    def check(self, number: int) -> int:
        """`number` if it lies within the bounds."""
        if not self.minimum <= number <= self.maximum:
            raise ValueError(
                f"argument must be between {self.minimum} and {self.maximum} inclusive"
            )
        return number

    def format(self, value: int) -> str:
        return str(value)


class ClampedInteger(Integer):
    """A number that is clamped to its bounds, as Redis does with `hz`."""

    def check(self, number: int) -> int:
        if not 0 <= number <= INT32_MAX:
            raise ValueError(f"argument must be between 0 and {INT32_MAX} inclusive")
        return min(max(number, self.minimum), self.maximum)


MEMORY_UNITS = {
    "": 1, "b": 1, "k": 1000, "kb": 1024, "m": 1000**2, "mb": 1024**2, "g": 1000**3, "gb": 1024**3,
}  # fmt: skip


class Memory(Integer):
    """A number of bytes, with an optional unit (k, kb, m, mb, g, gb). Redis takes "" for 0."""

    invalid = "argument must be a memory value"

    def __init__(self, minimum: int, maximum: int) -> None:
        super().__init__(minimum, maximum)
        self.expected = f"bytes between {minimum} and {maximum}, e.g. 1048576, 512mb or 1gb"

    def parse(self, words: list[str]) -> int:
        word = one_word(words).lower()
        digits = word.rstrip("bkmg")
        unit = word[len(digits) :]
        if (digits and not (digits.isascii() and digits.isdigit())) or unit not in MEMORY_UNITS:
            raise ValueError(self.invalid)
        return self.check(int(digits or "0") * MEMORY_UNITS[unit])


DURATION_UNITS_MS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000}


class Duration(Kind):
    """A time in ms, written with a unit (s, m, h, d), or 0."""

    expected = "a time with a unit (s, m, h, d), such as 24h, or 0"

    def parse(self, words: list[str]) -> int:
        word = one_word(words).lower()
        unit_ms = DURATION_UNITS_MS.get(word[-1:], 0)
        number = as_int64((word[:-1] if unit_ms else word).encode("utf-8", "surrogateescape"))
        if number is None or not 0 <= number * unit_ms <= INT64_MAX or (number and not unit_ms):
            raise ValueError(f"argument must be {self.expected}")
        return number * unit_ms

    def format(self, value: int) -> str:
        for unit, unit_ms in DURATION_UNITS_MS.items():
            if value and not value % unit_ms:
                return f"{value // unit_ms}{unit}"
        return "0"


class MemoryOrPercentage(Memory):
    """A number of bytes, or a share of `maxmemory`: `n%`, kept as -n."""

    invalid = "argument must be a memory or percent value"

    def __init__(self, minimum: int, maximum: int) -> None:
        super().__init__(minimum, maximum)
        self.expected += ", or a share of maxmemory, e.g. 5%"

    def parse(self, words: list[str]) -> int:
        share, sign, rest = one_word(words).partition("%")
        if not sign:
            return super().parse(words)
        if rest or not (share.isascii() and share.isdigit()):
            raise ValueError(self.invalid)
        if int(share) > 100:
            raise ValueError("percentage argument must be less or equal to 100")
        return -int(share)

    def format(self, value: int) -> str:
        return str(value) if value >= 0 else f"{-value}%"


class Octal(Kind):
    """File permissions as an octal number; 0 leaves them to the umask."""

    expected = "an octal number between 0 and 777"

    def parse(self, words: list[str]) -> str:
        word = one_word(words)
        if not word or word.strip("01234567"):
            raise ValueError("argument couldn't be parsed as an octal number")
        if int(word, 8) > 0o777:
            raise ValueError("argument must be between 0 and 777 inclusive")
        return f"{int(word, 8):o}"

    def format(self, value: str) -> str:
        return value


class Text(Kind):
    """Any single word."""

    expected = "one word; quote it if it holds blanks"

    def parse(self, words: list[str]) -> str:
        return one_word(words)

    def format(self, value: str) -> str:
        return value


class PeerNames(Text):
    """Names in certificates, with blanks between them; "" for none."""

    expected = "names with blanks between them, in quotes"

    def parse(self, words: list[str]) -> str:
        text = one_word(words)
        if re.search(r"[\t\n\v\f\r]", text):
            raise ValueError(
                "tls-expected-peer-name must not contain whitespace other than spaces separating"
                " names; use an empty string to disable it"
            )
        if text and not text.strip(" "):
            raise ValueError(
                "tls-expected-peer-name contains no usable name; use an empty string to disable it"
            )
        return text


class NodeField(Text):
    """What a cluster node announces about itself: one field of a line of nodes.conf.

    `allowed` is what a character may be, as in a regular expression. Redis lets through blanks and
    commas in some, and cannot read its nodes.conf again.
    """

    def __init__(self, allowed: str, max_bytes: int, wrong: str, too_long: str) -> None:
        self._allowed = f"{allowed}*"
        self._max_bytes, self._wrong, self._too_long = max_bytes, wrong, too_long

    def parse(self, words: list[str]) -> str:
        word = one_word(words)
        if len(word) > self._max_bytes:
            raise ValueError(self._too_long)
        if not re.fullmatch(self._allowed, word):
            raise ValueError(self._wrong)
        return word


class Words(Kind):
    """Several words, kept as a list."""

    expected = "one or more words"
    takes_several_words = True

    def parse(self, words: list[str]) -> list[str]:
        return [word for text in words for word in text.split()]

    def format(self, value: list[str]) -> str:
        return " ".join(value)


class Scores(Kind):
    """oom-score-adj-values: three numbers."""

    expected = "three numbers between -2000 and 2000"
    takes_several_words = True

    def parse(self, words: list[str]) -> list[int]:
        scores = [as_int64(word.encode()) for text in words for word in text.split()]
        if len(scores) != 3:
            raise ValueError("wrong number of arguments")
        checked = [score for score in scores if score is not None and -2000 <= score <= 2000]
        if len(checked) != 3:
            raise ValueError(
                "Invalid oom-score-adj-values, elements must be between -2000 and 2000."
            )
        return checked

    def format(self, value: list[int]) -> str:
        return " ".join(map(str, value))


class PrimaryAddress(Kind):
    """The host and port of the primary; None for a server that follows none."""

    expected = "a host and a port, or 'no one'"
    takes_several_words = True

    def parse(self, words: list[str]) -> tuple[str, int] | None:
        given = [word for text in words for word in text.split()]
        if not given or [word.lower() for word in given] == ["no", "one"]:
            return None
        if len(given) != 2:
            raise ValueError("wrong number of arguments")
        port = as_int64(given[1].encode("utf-8", "surrogateescape"))
        if port is None or not 0 <= port <= 65535:
            raise ValueError("Invalid master port")
        return given[0], port

    def format(self, value: tuple[str, int] | None) -> str:
        return f"{value[0]} {value[1]}" if value else ""

    def words(self, value: tuple[str, int] | None) -> list[str]:
        return self.format(value).split()  # none at all: a file has no line for it


class Choice(Kind):
    """One of a few words."""

    def __init__(self, *choices: str) -> None:
        self.choices = choices
        self.expected = "one of the following: " + ", ".join(choices)

    def parse(self, words: list[str]) -> str:
        word = one_word(words).lower()
        for choice in self.choices:
            if choice.lower() == word:
                return choice
        raise ValueError(f"argument(s) must be {self.expected}")

    def format(self, value: str) -> str:
        return value


class Synonyms(Choice):
    """One of a few words, where others say the same as some of them."""

    def __init__(self, *choices: str, **synonyms: str) -> None:
        super().__init__(*choices, *synonyms)
        self._synonyms = synonyms

    def parse(self, words: list[str]) -> str:
        word = super().parse(words)
        return self._synonyms.get(word, word)


class Choices(Choice):
    """Some of a few words, in their order; the first ones stand alone."""

    takes_several_words = True

    def __init__(self, alone: int, *choices: str) -> None:
        super().__init__(*choices)
        self._alone = choices[:alone]

    def parse(self, words: list[str]) -> str:
        given = {super(Choices, self).parse([word]) for text in words for word in text.split()}
        if not given or (len(given) > 1 and given & {*self._alone}):
            raise ValueError(f"argument(s) must be {self.expected}")
        return " ".join(choice for choice in self.choices if choice in given)


class AuditEvents(Kind):
    """audit-events: words with commas or blanks between them; none: nothing is recorded."""

    choices = ("auth", "admin", "config", "keys-removed", "all")
    expected = f"some of the following, with commas between them: {', '.join(choices)}"
    takes_several_words = takes_no_words = True

    def parse(self, words: list[str]) -> str:
        given = {word.lower() for text in words for word in text.replace(",", " ").split()}
        if not given <= {*self.choices}:
            raise ValueError(f"argument(s) must be {self.expected}")
        return ",".join(choice for choice in self.choices if choice in given)

    def format(self, value: str) -> str:
        return value


class EventClasses(Kind):
    """The letters of notify-keyspace-events, kept as flags."""

    expected = "letters out of A g $ l s h z x e t m d n o c K E S T I V"

    def parse(self, words: list[str]) -> int:
        flags = notifications.parse_classes("".join(words))
        if flags is None:
            raise ValueError("Invalid event class character. Use 'Ag$lshzxeKEtmdnocSTIV'.")
        return flags

    def format(self, value: int) -> str:
        return notifications.format_classes(value)


class Percentiles(Kind):
    """latency-tracking-info-percentiles: numbers from 0 to 100."""

    expected = "numbers between 0 and 100, e.g. 50 99 99.9"
    takes_several_words = takes_no_words = True

    def parse(self, words: list[str]) -> list[float]:
        name = "latency-tracking-info-percentiles"
        percentiles: list[float] = []
        for word in Words().parse(words):
            try:
                percentiles.append(float(word))
            except ValueError:
                raise ValueError(f"Invalid {name} parameters") from None
            if not 0 <= percentiles[-1] <= 100:  # not a number is refused here, too
                raise ValueError(f"{name} parameters should sit between [0.0,100.0]")
        return percentiles

    def format(self, value: list[float]) -> str:
        return " ".join(repr(percentile).removesuffix(".0") for percentile in value)


@frozen_record
class OutputLimit:
    """client-output-buffer-limit of one class: bytes, bytes, seconds; 0 is none."""

    hard_bytes: int
    soft_bytes: int
    soft_seconds: int


OutputLimits = dict[str, OutputLimit]  # by class: normal, replica, pubsub
_SHOWN_CLASSES = {"normal": "normal", "replica": "slave", "pubsub": "pubsub"}


class OutputLimitTable(Kind):
    """client-output-buffer-limit: groups of class, hard, soft, seconds.

    A value holds the classes that were named; `combine` leaves the others as they were.
    """

    expected = "groups of <normal|replica|pubsub> <hard limit> <soft limit> <soft seconds>"
    takes_several_words = takes_no_words = True

    def parse(self, words: list[str]) -> OutputLimits:
        words = Words().parse(words)
        if len(words) % 4:
            raise ValueError("Wrong number of arguments in buffer limit configuration.")
        limits: OutputLimits = {}
        for i in range(0, len(words), 4):
            name = {"slave": "replica"}.get(words[i].lower(), words[i].lower())
            if name not in _SHOWN_CLASSES:
                raise ValueError("Invalid client class specified in buffer limit configuration.")
            limits[name] = self._limit(*words[i + 1 : i + 4])
        return limits

    @staticmethod
    def _limit(hard: str, soft: str, seconds: str) -> OutputLimit:
        memory = Memory(0, INT64_MAX)
        try:
            hard_bytes, soft_bytes = memory.parse([hard]), memory.parse([soft])
            return OutputLimit(hard_bytes, soft_bytes, Integer(0, INT32_MAX).parse([seconds]))
        except ValueError:
            raise ValueError(
                "Error in hard, soft or soft_seconds setting in buffer limit configuration."
            ) from None

    def format(self, value: OutputLimits) -> str:
        return " ".join(
            f"{shown} {value[name].hard_bytes} {value[name].soft_bytes} {value[name].soft_seconds}"
            for name, shown in _SHOWN_CLASSES.items()
            if name in value
        )

    def combine(self, old: OutputLimits, new: OutputLimits) -> OutputLimits:
        return old | new


@frozen_record
class UserLimit:
    """user-limit of one user; 0 is none."""

    connections: int = 0
    requests_per_second: int = 0
    output_bytes: int = 0


UserLimitsByName = dict[bytes, UserLimit]
_USER_LIMITS = ("connections", "requests-per-second", "output-buffer")


class UserLimitTable(Kind):
    """user-limit: a user's name, and one or more limits of that user.

    A value holds the users that were named; `combine` leaves the others as they were. A limit that
    is not named is 0, and a user all of whose limits are 0 has none.
    """

    expected = (
        "a user's name, then one or more of: connections <n>, requests-per-second <n>,"
        " output-buffer <bytes>"
    )
    takes_several_words = takes_no_words = True

    def parse(self, words: list[str]) -> UserLimitsByName:
        left = Words().parse(words)
        limits: UserLimitsByName = {}
        while left:
            name = left.pop(0)
            found: dict[str, int] = {}
            # A word that is there already is the name of the next user.
            while len(left) > 1 and (what := left[0].lower()) in _USER_LIMITS and what not in found:
                kind = Memory if what == "output-buffer" else Integer
                found[what] = kind(0, INT64_MAX).parse([left[1]])
                del left[:2]
            if not found:
                raise ValueError(f"argument(s) must be {self.expected}")
            limit = UserLimit(*(found.get(what, 0) for what in _USER_LIMITS))
            limits[name.encode("utf-8", "surrogateescape")] = limit
        return limits

    def format(self, value: UserLimitsByName) -> str:
        return " ".join(
            f"{name.decode('utf-8', 'surrogateescape')} connections {limit.connections}"
            f" requests-per-second {limit.requests_per_second} output-buffer {limit.output_bytes}"
            for name, limit in value.items()
        )

    def words(self, value: UserLimitsByName) -> list[str]:
        return self.format(value).split()

    def combine(self, old: UserLimitsByName, new: UserLimitsByName) -> UserLimitsByName:
        both = old | new
        return {name: limit for name, limit in both.items() if limit != UserLimit()}


class FileName(Text):
    """The name of a file or folder inside another one, without a path."""

    expected = "a name without a slash"

    def __init__(self, directive: str, noun: str) -> None:
        self._directive, self._noun = directive, noun

    def parse(self, words: list[str]) -> str:
        word = one_word(words)
        if not word:
            raise ValueError(f"{self._directive} can't be empty")
        if "/" in word or word in (".", ".."):
            raise ValueError(f"{self._directive} can't be a path, just a {self._noun}")
        return word


@frozen_record
class SavePoint:
    """A snapshot is due `seconds` after the last one if there were at least `changes` changes
    since.
    """

    seconds: int
    changes: int


class SavePoints(Kind):
    """save: pairs of seconds and changes; no words, or one empty word: none.

    Every line of a file adds to those before it, as in Redis; CONFIG SET replaces them all.
    """

    expected = 'pairs of <seconds> <changes>, or "" for none'
    takes_several_words = takes_no_words = True

    def parse(self, words: list[str]) -> tuple[SavePoint, ...]:
        numbers = [as_int64(word.encode()) for text in words for word in text.split()]
        points = []
        for seconds, changes in zip(numbers[::2], numbers[1::2], strict=False):
            if seconds is None or changes is None or seconds < 1 or changes < 0:
                raise ValueError("Invalid save parameters")
            points.append(SavePoint(seconds, changes))
        if len(numbers) % 2:
            raise ValueError("Invalid save parameters")
        return tuple(points)

    def format(self, value: tuple[SavePoint, ...]) -> str:
        return " ".join(f"{point.seconds} {point.changes}" for point in value)

    def extend(
        self, old: tuple[SavePoint, ...], new: tuple[SavePoint, ...]
    ) -> tuple[SavePoint, ...]:
        return old + new if new else new


class ShutdownOptions(Kind):
    """shutdown-on-sigterm, shutdown-on-sigint: the options of SHUTDOWN, or default for none."""

    expected = "default, or save or nosave, with now, force and failover"
    takes_several_words = True

    def parse(self, words: list[str]) -> frozenset[str]:
        options = {word.lower() for text in words for word in text.split()}
        if not options or not options <= {"default", "save", "nosave", "now", "force", "failover"}:
            raise ValueError(
                "argument(s) must be one of the following:"
                " default, save, nosave, now, force, failover"
            )
        if {"save", "nosave"} <= options:
            raise ValueError("shutdown options SAVE and NOSAVE can't be used simultaneously")
        return frozenset(options - {"default"})

    def format(self, value: frozenset[str]) -> str:
        ordered = [word for word in ("save", "nosave", "now", "force", "failover") if word in value]
        return " ".join(ordered) or "default"
