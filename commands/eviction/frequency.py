"""How often a value is used: a logarithmic count of accesses (OBJECT FREQ, the LFU policies).

The more often a value was used, the less likely an access adds to its count, up to 255; each
`lfu-decay-time` minutes without an access take one away. The time of the last access, which every
value has, is also that of the last decay.

Source: Redis 4.0, redis.conf ("LFU").
"""

from __future__ import annotations

from typing import Protocol

import cython

from storage.chance import Chance
from storage.types.value import NEW_FREQUENCY, Value

MAX_FREQUENCY = 255
_MINUTE_MS = 60_000


class FrequencySettings(Protocol):
    """The directives that count here."""

    lfu_log_factor: int
    lfu_decay_time: int  # minutes; 0: no decay


def frequency_now(
    value: Value, now_ms: cython.longlong, decay_minutes: cython.longlong
) -> cython.longlong:
    """The count of a value, 0 to 255, after the decay since its last access."""
    if not decay_minutes:
        return value.frequency
    passed: cython.longlong = now_ms // _MINUTE_MS - value.access_ms // _MINUTE_MS
    if passed <= 0:
        return value.frequency
    return max(value.frequency - passed // decay_minutes, 0)


def count_access(
    value: Value, now_ms: cython.longlong, settings: FrequencySettings, chance: Chance
) -> None:
    """Count an access, before its time is noted."""
    frequency: cython.longlong = frequency_now(value, now_ms, settings.lfu_decay_time)
    if frequency < MAX_FREQUENCY:
        above: cython.longlong = max(frequency - NEW_FREQUENCY, 0)
        if not above or not chance.below(above * settings.lfu_log_factor + 1):
            frequency += 1
    value.frequency = frequency
