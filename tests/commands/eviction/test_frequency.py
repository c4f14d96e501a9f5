"""How often values are used."""

from __future__ import annotations

from dataclasses import dataclass

from commands.eviction.frequency import MAX_FREQUENCY, count_access, frequency_now
from storage.chance import Chance
from storage.types.value import NEW_FREQUENCY, StringValue

MINUTE_MS = 60_000


@dataclass
class Settings:
    lfu_log_factor: int = 10
    lfu_decay_time: int = 1


def value(frequency: int, access_ms: int = 0) -> StringValue:
    made = StringValue(b"v", access_ms)
    made.frequency = frequency
    return made


def accessed(times: int, settings: Settings) -> int:
    made = value(NEW_FREQUENCY)
    chance = Chance(1)
    for _ in range(times):
        count_access(made, 0, settings, chance)
    return made.frequency


def test_minutes_without_access_take_from_the_count() -> None:
    assert frequency_now(value(10), 0, 1) == 10
    assert frequency_now(value(10), 3 * MINUTE_MS, 1) == 7
    assert frequency_now(value(10), 3 * MINUTE_MS, 2) == 9
    assert frequency_now(value(10), 30 * MINUTE_MS, 1) == 0
    assert frequency_now(value(10), 30 * MINUTE_MS, 0) == 10
    assert frequency_now(value(10, access_ms=5 * MINUTE_MS), 0, 1) == 10  # the clock was set back


def test_the_first_accesses_count_each() -> None:
    assert accessed(1, Settings()) == NEW_FREQUENCY + 1
    low = value(0)
    count_access(low, 0, Settings(), Chance(1))
    assert low.frequency == 1


def test_the_count_is_logarithmic_and_ends_at_255() -> None:
    assert NEW_FREQUENCY + 2 <= accessed(100, Settings()) < 18
    assert accessed(1000, Settings(lfu_log_factor=0)) == MAX_FREQUENCY
    assert accessed(1000, Settings(lfu_log_factor=100)) < accessed(1000, Settings())
