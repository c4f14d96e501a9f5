"""Geohashes: a place as a number of 52 bits, stored as a score of a sorted set.

The map is divided into halves, again and again, by longitude and by latitude in turn; each halving
is a bit. A cell of `step` halvings in either direction has 2 * step bits, and all places in it have
them as the first bits of their numbers.

Latitudes end at 85.05112878 degrees, where a square map of the world (Web Mercator) ends. The text
of GEOHASH goes up to 90 degrees, as geohashes do elsewhere.

Floating-point operations are in the same order as in Redis, because the last digit of a distance
depends on it.
"""

from __future__ import annotations

from math import asin, cos, pi, sin, sqrt
from typing import NamedTuple

from protocol.records import frozen_record

STEP_MAX = 26
HASH_BITS = 2 * STEP_MAX

LONGITUDE_MAX = 180.0
LATITUDE_MAX = 85.05112878
EARTH_RADIUS_M = 6372797.560856

_ALPHABET = b"0123456789bcdefghjkmnpqrstuvwxyz"
_TEXT_LATITUDE_MAX = 90.0
_TEXT_CHARACTERS = 11
_CHARACTER_BITS = 5

_TWO_63 = float(1 << 63)
_RADIANS_PER_DEGREE = pi / 180.0


class Place(NamedTuple):
    """Degrees."""

    longitude: float
    latitude: float

    @property
    def is_on_map(self) -> bool:
        """Whether it can be kept."""
        return abs(self.longitude) <= LONGITUDE_MAX and abs(self.latitude) <= LATITUDE_MAX


@frozen_record
class Cell:
    """A rectangle of the map: its column and row of 2**step."""

    column: int
    row: int
    step: int

    @classmethod
    def of(cls, place: Place, step: int, latitude_max: float = LATITUDE_MAX) -> Cell:
        """The cell that a place is in."""
        column = (place.longitude + LONGITUDE_MAX) / (LONGITUDE_MAX + LONGITUDE_MAX)
        row = (place.latitude + latitude_max) / (latitude_max + latitude_max)
        return cls(int(column * (1 << step)), int(row * (1 << step)), step)

    @property
    def bits(self) -> int:
        """The geohash; bits of the row are at the even places."""
        return _spread(self.row) | _spread(self.column) << 1

    def neighbour(self, east: int, north: int) -> Cell:
        """The cell that many columns and rows away; the map wraps around."""
        mask = (1 << self.step) - 1
        column = self.column + east & mask if east else self.column
        row = self.row + north & mask if north else self.row
        return Cell(column, row, self.step)

    @property
    def west_edge(self) -> float:
        return _edge(self.column, self.step, LONGITUDE_MAX)

    @property
    def east_edge(self) -> float:
        return _edge(self.column + 1, self.step, LONGITUDE_MAX)

    @property
    def south_edge(self) -> float:
        return _edge(self.row, self.step, LATITUDE_MAX)

    @property
    def north_edge(self) -> float:
        return _edge(self.row + 1, self.step, LATITUDE_MAX)


def _edge(line: int, step: int, maximum: float) -> float:
    """The degree of a line between cells."""
    return -maximum + (line * 1.0 / (1 << step)) * (maximum + maximum)


def _spread(number: int) -> int:
    """A number of 32 bits with its bits at every other place."""
    number = (number | number << 16) & 0x0000FFFF0000FFFF
    number = (number | number << 8) & 0x00FF00FF00FF00FF
    number = (number | number << 4) & 0x0F0F0F0F0F0F0F0F
    number = (number | number << 2) & 0x3333333333333333
    return (number | number << 1) & 0x5555555555555555


def _gather(number: int) -> int:
    """The inverse of `_spread`."""
    number &= 0x5555555555555555
    number = (number | number >> 1) & 0x3333333333333333
    number = (number | number >> 2) & 0x0F0F0F0F0F0F0F0F
    number = (number | number >> 4) & 0x00FF00FF00FF00FF
    number = (number | number >> 8) & 0x0000FFFF0000FFFF
    return (number | number >> 16) & 0x00000000FFFFFFFF


def encode(place: Place) -> int:
    """The number that a sorted set keeps for a place."""
    return Cell.of(place, STEP_MAX).bits


def decode(score: float) -> Place:
    """The centre of the cell that a score encodes."""
    bits = _whole_bits(score)
    cell = Cell(_gather(bits >> 1), _gather(bits), STEP_MAX)
    longitude = (cell.west_edge + cell.east_edge) / 2
    latitude = (cell.south_edge + cell.north_edge) / 2
    return Place(
        min(max(longitude, -LONGITUDE_MAX), LONGITUDE_MAX),
        min(max(latitude, -LATITUDE_MAX), LATITUDE_MAX),
    )


def _whole_bits(score: float) -> int:
    """A score as 64 bits, as processors make it of a floating-point number."""
    if -_TWO_63 <= score < 2 * _TWO_63:
        return int(score) & (1 << 64) - 1
    return 1 << 63 if score < 0 else 0


def text_of(place: Place) -> bytes:
    """The geohash as eleven characters."""
    bits = Cell.of(place, STEP_MAX, _TEXT_LATITUDE_MAX).bits
    characters = bytearray()
    for count in range(1, _TEXT_CHARACTERS + 1):
        shift = HASH_BITS - count * _CHARACTER_BITS
        # There are no bits for the last one.
        characters.append(_ALPHABET[bits >> shift & 31 if shift >= 0 else 0])
    return bytes(characters)


# -- distances ---------------------------------------------------------------------------------


def radians(degrees: float) -> float:
    return degrees * _RADIANS_PER_DEGREE


def degrees(radians_: float) -> float:
    return radians_ / _RADIANS_PER_DEGREE


def distance_m(first: Place, second: Place) -> float:
    """Along a great circle (haversine)."""
    half_longitude = sin((radians(second.longitude) - radians(first.longitude)) / 2)
    if half_longitude == 0.0:
        return latitude_distance_m(first.latitude, second.latitude)
    first_latitude, second_latitude = radians(first.latitude), radians(second.latitude)
    half_latitude = sin((second_latitude - first_latitude) / 2)
    square = (
        half_latitude * half_latitude
        + cos(first_latitude) * cos(second_latitude) * half_longitude * half_longitude
    )
    # Opposite places may come out a little farther than that.
    return 2.0 * EARTH_RADIUS_M * asin(min(sqrt(square), 1.0))


def latitude_distance_m(first: float, second: float) -> float:
    """Along a meridian."""
    return EARTH_RADIUS_M * abs(radians(second) - radians(first))
