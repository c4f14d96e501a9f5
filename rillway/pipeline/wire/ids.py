"""Entry IDs as one int, `ms << 64 | seq`: they compare in order, and end + 1 is the next one.

As text an ID is `ms-seq`. Nothing here knows `-`, `+`, `$` or `(`: those belong to commands.

The unit of an ID is what its first half counts. The server makes IDs of Unix milliseconds.
Producers may give microseconds or nanoseconds, or numbers that are no Unix time in any unit, such
as snowflakes or a counter. The last ID shows which one it is: milliseconds from 2001 to 2100; else
microseconds or nanoseconds from 2001 to a day from now; else none. Snowflakes of some epochs could
be nanoseconds too, and as times they would expire. So IDs count as nanoseconds only if the last one
is within a day of now, or if all are multiples of 1,000, or if none of the lowest twelve bits, a
snowflake's counter, is the same in all of at least 16 of them.
"""

from __future__ import annotations

from collections.abc import Sequence

SEQ_BITS = 64
MAX_SEQ = (1 << SEQ_BITS) - 1
MIN_ID = 0
MAX_ID = (1 << 128) - 1


def make_id(ms: int, seq: int = 0) -> int:
    return ms << SEQ_BITS | seq


def parse_id(text: str | bytes) -> int:
    """Parse `5-2`, or `5` for `5-0`. Raises ValueError for anything else, or beyond 64 bits."""
    if isinstance(text, bytes):
        text = text.decode("ascii", errors="replace")
    ms_text, dash, seq_text = text.partition("-")
    if not ms_text.isdecimal() or (dash and not seq_text.isdecimal()):
        raise ValueError(f"'{text}' is no ID of an entry: expected MS or MS-SEQ")
    ms, seq = int(ms_text), int(seq_text or 0)
    if ms > MAX_SEQ or seq > MAX_SEQ:
        raise ValueError(f"'{text}' is no ID of an entry: its parts have 64 bits")
    return ms << SEQ_BITS | seq


def format_id(entry_id: int) -> str:
    """`5-2`."""
    return f"{entry_id >> SEQ_BITS}-{entry_id & MAX_SEQ}"


def ms_of(entry_id: int) -> int:
    """Return the first half: Unix time in milliseconds if the server made the ID."""
    return entry_id >> SEQ_BITS


MS, US, NS, NONE = "ms", "us", "ns", "none"
UNITS = (MS, US, NS, NONE)
PER_MS = {MS: 1, US: 1_000, NS: 1_000_000}
UNIT_NAMES = {MS: "milliseconds", US: "microseconds", NS: "nanoseconds"}

LEAST_MS, LAST_MS = 10**12, 4_102_444_800_000  # 2001-09-09, 2100-01-01
MS_PER_DAY = 86_400_000
FUTURE_MS = 3_600_000
# How many of a stream's newest IDs `recognised` needs.
SAMPLED_IDS, LEAST_SAMPLE, COUNTER_BITS = 100, 16, 12


def unit_text(unit: str | None) -> str:
    """Say in words what the IDs are: `its IDs are microseconds`."""
    return f"its IDs are {UNIT_NAMES.get(unit or MS, 'no times')}"


def time_ms(entry_id: int, unit: str) -> int | None:
    """Return the Unix milliseconds of an ID; None if IDs are no times."""
    return ms_of(entry_id) // PER_MS[unit] if unit in PER_MS else None


def id_of_time(ms: int, unit: str) -> int | None:
    """Return the first ID of a Unix millisecond; None if IDs are no times."""
    return make_id(min(ms * PER_MS[unit], MAX_SEQ)) if unit in PER_MS else None


class TimeID(int):
    """A bound of a range that was given as a time: an ID of milliseconds."""

    def in_unit(self, unit: str) -> int:
        """Return the bound in IDs of a unit. Raises ValueError if they are no times."""
        if unit not in PER_MS:
            raise ValueError(f"{unit_text(unit)}: a range is given by IDs, such as 5-0")
        # The last ID before a time has the greatest sequence number.
        before = int(self & MAX_SEQ == MAX_SEQ)
        return make_id(min(ms_of(self + before) * PER_MS[unit], MAX_SEQ)) - before


def in_unit(bound: int, unit: str) -> int:
    """Return a bound of a range in IDs of a unit. Raises ValueError for times if they are none."""
    return bound.in_unit(unit) if isinstance(bound, TimeID) else bound


def age_ms(entry_id: int, unit: str, now_ms: int) -> int | None:
    """Return how long ago an ID was made; None for an ID that is no time."""
    ms = time_ms(entry_id, unit)
    return max(now_ms - ms, 0) if ms is not None and LEAST_MS <= ms <= now_ms + FUTURE_MS else None


def may_be_nanoseconds(last: int, now_ms: int) -> bool:
    """Return True if `recognised` needs more IDs than the last one."""
    return _is_past(ms_of(last) // PER_MS[NS], now_ms)


def recognised(newest: Sequence[int], now_ms: int) -> str:
    """Return the unit of IDs. `newest`: some of the last ones, in descending order.

    `now_ms`: the time by the server's clock.
    """
    values = [ms_of(entry_id) for entry_id in newest]
    last = values[0]
    if LEAST_MS <= last < LAST_MS:
        return MS
    if _is_past(last // PER_MS[US], now_ms):
        return US
    if _is_past(last // PER_MS[NS], now_ms) and _are_nanoseconds(values, now_ms):
        return NS
    return NONE


def _is_past(ms: int, now_ms: int) -> bool:
    return LEAST_MS <= ms <= now_ms + MS_PER_DAY


def _are_nanoseconds(values: Sequence[int], now_ms: int) -> bool:
    if abs(now_ms - values[0] // PER_MS[NS]) <= MS_PER_DAY:
        return True
    if all(value % 1_000 == 0 for value in values):
        return True
    distinct = set(values)
    ones, zeros = -1, -1
    for value in distinct:
        ones, zeros = ones & value, zeros & ~value
    return len(distinct) >= LEAST_SAMPLE and not (ones | zeros) & ((1 << COUNTER_BITS) - 1)
