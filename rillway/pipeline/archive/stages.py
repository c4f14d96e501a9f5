"""The stage of each stream in a round of the archiver, and the events that move it to another.

    stage         meaning                                       next
    UNRECOGNISED  this attempt has not checked it yet           READING, ARCHIVED or ABSENT
    READING       it has entries to archive                     ARCHIVED; FINISHED when the user
                                                                interrupts the round
    ARCHIVED      all its entries are archived, none trimmed    FINISHED
    ABSENT        the server has no such key                    -
    FINISHED      the round is over for it                      -
    CHANGED       it is no longer the stream that was read      UNRECOGNISED, in the next attempt
    FAILED        left out of the round because of an error     -

Any stream that is not finished may change (its history, or the node that serves it) or fail. What
was read of a changed stream is dropped unless it is committed. The table is pure: archiver.py does
the I/O and reports what happened as events.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto


class Stage(Enum):
    """The stage of a stream in a round."""

    UNRECOGNISED = auto()
    READING = auto()
    ARCHIVED = auto()
    ABSENT = auto()
    FINISHED = auto()
    CHANGED = auto()
    FAILED = auto()


class Event(Enum):
    """An event that moves a stream to another stage."""

    HAS_ENTRIES = auto()  # recognised, with entries to archive
    HAS_NONE_LEFT = auto()  # recognised without new entries, or the last ones are committed
    IS_MISSING = auto()
    TRIMMED = auto()  # or it need not be
    CHANGED = auto()
    RETRIED = auto()
    FAILED = auto()


TRANSITIONS: dict[tuple[Stage, Event], Stage] = {
    (Stage.UNRECOGNISED, Event.HAS_ENTRIES): Stage.READING,
    (Stage.UNRECOGNISED, Event.HAS_NONE_LEFT): Stage.ARCHIVED,
    (Stage.UNRECOGNISED, Event.IS_MISSING): Stage.ABSENT,
    (Stage.READING, Event.HAS_NONE_LEFT): Stage.ARCHIVED,
    (Stage.READING, Event.TRIMMED): Stage.FINISHED,
    (Stage.ARCHIVED, Event.TRIMMED): Stage.FINISHED,
    (Stage.CHANGED, Event.RETRIED): Stage.UNRECOGNISED,
}
UNFINISHED = (
    Stage.UNRECOGNISED,
    Stage.READING,
    Stage.ARCHIVED,
    Stage.ABSENT,
    Stage.CHANGED,
)
TRANSITIONS |= {(stage, Event.CHANGED): Stage.CHANGED for stage in UNFINISHED}
TRANSITIONS |= {(stage, Event.FAILED): Stage.FAILED for stage in UNFINISHED}


class Stages:
    """The stages of the streams of one round."""

    def __init__(self, names: Iterable[str]) -> None:
        self._stages = dict.fromkeys(names, Stage.UNRECOGNISED)
        # Why a stream is at CHANGED.
        self.reasons: dict[str, str] = {}

    def __getitem__(self, name: str) -> Stage:
        return self._stages[name]

    def at(self, *stages: Stage) -> list[str]:
        """The streams at some stages, in the order of the round."""
        return [name for name, stage in self._stages.items() if stage in stages]

    def move(self, names: Iterable[str], event: Event, reason: str = "") -> None:
        """Move streams to their next stage. An event that the table lacks is a bug."""
        for name in names:
            before = self._stages[name]
            assert (before, event) in TRANSITIONS, f"{name}: {event.name} at {before.name}"
            self._stages[name] = TRANSITIONS[before, event]
            if event is Event.CHANGED:
                self.reasons[name] = reason
