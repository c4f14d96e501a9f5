"""Which entries a stream keeps: the settings of its retention, and what it has counted.

    RETAIN-MS, RETAIN-LEN, RETAIN-BYTES    what may go: entries that are older than that, the oldest
                                           ones above that number, or above that number of bytes
    RETAIN-REFS                            KEEPREF leaves removed entries pending, DELREF does not,
                                           ACKED keeps what a living group has not acknowledged
    RETAIN-ACKED                           entries go once each living group has acknowledged them
    RETAIN-HARD-BYTES                      a number of bytes above which ACKED keeps nothing
    GROUP-MAX-IDLE                         how long a group counts as living without a consumer

0 is no limit. When entries go, and which: commands/streams/policies/retention.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from storage.groups.group import References
from storage.memory import instance_bytes

MAX_NUMBER = 2**63 - 1
MAX_MS = 10**12
# The numeric options: the attribute, and the greatest value.
NUMBERS = {
    b"RETAIN-MS": ("max_age_ms", MAX_MS),
    b"RETAIN-LEN": ("max_length", MAX_NUMBER),
    b"RETAIN-BYTES": ("max_bytes", MAX_NUMBER),
    b"RETAIN-HARD-BYTES": ("hard_bytes", MAX_NUMBER),
    b"GROUP-MAX-IDLE": ("group_idle_ms", MAX_MS),
}
REFERENCES = {name.value.encode(): name for name in References}
COUNTERS = ("removed", "groups_passed_over", "unread_trimmed")


class Measured(Protocol):
    """The bytes of a stream (storage/policies/content_bytes.py)."""

    total: int
    is_whole: bool

    def memory_bytes(self) -> int:
        """The memory of the count in bytes."""


class Retention:
    """The retention of one stream."""

    __slots__ = (
        "content",
        "cut_ms",
        "group_idle_ms",
        "groups_passed_over",
        "hard_bytes",
        "looked_ms",
        "max_age_ms",
        "max_bytes",
        "max_length",
        "passed_over",
        "references",
        "removed",
        "removes_acked",
        "rest_until_ms",
        "seen_groups",
        "unread_trimmed",
    )

    def __init__(self) -> None:
        self.max_age_ms = self.max_length = self.max_bytes = 0
        self.hard_bytes = self.group_idle_ms = 0
        self.references = References.KEEP
        self.removes_acked = False
        self.removed = 0  # entries
        self.groups_passed_over = 0  # groups that were not living when they lost unread entries
        self.unread_trimmed = 0  # entries that such a group had not read
        # Not in files: when the first node was last cut, when it was last looked for what may go,
        # until when nothing can go, and the bytes, if they were asked for.
        self.cut_ms = self.looked_ms = self.rest_until_ms = 0
        self.content: Measured | None = None
        # When it first saw each group, and which groups it has passed over lately.
        self.seen_groups: dict[bytes, int] = {}
        self.passed_over: set[bytes] = set()

    @property
    def counts_bytes(self) -> bool:
        """True if a limit in bytes is set."""
        return bool(self.max_bytes or self.hard_bytes)

    @property
    def asks_groups(self) -> bool:
        """True if it matters what groups have acknowledged."""
        return self.respects_groups or self.removes_acked

    @property
    def respects_groups(self) -> bool:
        """True if living groups keep entries from going by age, length or bytes."""
        return self.references is References.ACKED

    @property
    def is_set(self) -> bool:
        """True if any setting differs from its default."""
        return bool(self.settings())

    def settings(self) -> dict[bytes, bytes]:
        """The options that differ from their defaults, as XCFGSET takes them."""
        found: dict[bytes, bytes] = {}
        for option, (attribute, _) in NUMBERS.items():
            if number := getattr(self, attribute):
                found[option] = b"%d" % number
        if self.references is not References.KEEP:
            found[b"RETAIN-REFS"] = self.references.value.encode()
        if self.removes_acked:
            found[b"RETAIN-ACKED"] = b"yes"
        return found

    def change(self, settings: dict[bytes, bytes]) -> None:
        """Set options. Raises ValueError, with the option as its argument, for a bad value."""
        for option, text in settings.items():
            if option in NUMBERS:
                attribute, maximum = NUMBERS[option]
                number = int(text) if text.isdigit() and len(text) < 20 else -1
                if not 0 <= number <= maximum:
                    raise ValueError(option)
                setattr(self, attribute, number)
            elif option == b"RETAIN-REFS" and text in REFERENCES:
                self.references = REFERENCES[text]
            elif option == b"RETAIN-ACKED" and text in (b"yes", b"no"):
                self.removes_acked = text == b"yes"
            else:
                raise ValueError(option)

    def copy(self) -> Retention:
        """The retention of a copy of the stream, with counters that start at 0."""
        twin = Retention()
        twin.change(self.settings())
        return twin

    def memory_bytes(self) -> int:
        """The memory in bytes."""
        content = self.content
        return _OWN_BYTES + (0 if content is None else content.memory_bytes())

    # -- rows (storage/policies/rows.py) -------------------------------------------------------

    def settings_row(self) -> list[bytes]:
        """All options that are set: each name, and its value."""
        return [word for pair in self.settings().items() for word in pair]

    @classmethod
    def from_row(cls, words: Sequence[bytes]) -> Retention:
        """A retention with exactly these settings. Raises ValueError."""
        made = cls()
        made.change(dict(zip(words[::2], words[1::2], strict=True)))
        return made

    def counters(self) -> list[int]:
        """What was counted, in the order of COUNTERS."""
        return [getattr(self, name) for name in COUNTERS]

    def count_from(self, numbers: Iterable[int]) -> None:
        """Continue counting from these values. Raises ValueError."""
        for name, number in zip(COUNTERS, numbers, strict=True):
            setattr(self, name, number)


_OWN_BYTES = instance_bytes(Retention)
