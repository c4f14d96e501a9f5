"""Geohashes: a place as a number of 52 bits, stored as a score of a sorted set; distances.

The map is divided into halves repeatedly, by longitude and by latitude in turn; each halving is a
bit. A cell of `step` halvings in either direction has 2 * step bits, and all places in it have them
as the first bits of their numbers.

Latitudes end at 85.05112878 degrees, where a square map of the world (Web Mercator) ends. The text
of GEOHASH goes up to 90 degrees, as geohashes do elsewhere.

A search (`within_circle`, `within_box`) decodes each geohash in the cells that it looks through,
and makes no object of those that are not within its shape. Floating-point operations are in the
same order as in Redis, because the last digit of a distance depends on it.
"""

from __future__ import annotations

from math import pi
from typing import NamedTuple, TypeAlias

import cython

from protocol.records import frozen_record
from storage.types.records import Record, score_of

if not cython.compiled:
    # Compiled, they are those of C, which the module's C types import.
    from math import asin, cos, fabs, sin, sqrt

STEP_MAX = 26

LONGITUDE_MAX = 180.0
LATITUDE_MAX = 85.05112878
EARTH_RADIUS_M = 6372797.560856

# The same for C.
_STEP_MAX: cython.int = STEP_MAX
_LONGITUDE_MAX: cython.double = LONGITUDE_MAX
_LATITUDE_MAX: cython.double = LATITUDE_MAX
_RADIUS_M: cython.double = EARTH_RADIUS_M
_RADIANS_PER_DEGREE: cython.double = pi / 180.0
_TWO_63: cython.double = float(1 << 63)
_TOP_BIT: cython.ulonglong = 1 << 63
# Groups of 1 to 32 bits, as far apart as they are long.
_MASK_1: cython.ulonglong = 0x5555555555555555
_MASK_2: cython.ulonglong = 0x3333333333333333
_MASK_4: cython.ulonglong = 0x0F0F0F0F0F0F0F0F
_MASK_8: cython.ulonglong = 0x00FF00FF00FF00FF
_MASK_16: cython.ulonglong = 0x0000FFFF0000FFFF
_MASK_32: cython.ulonglong = 0x00000000FFFFFFFF

# The places within a shape: their records, and how many meters each is from the center.
Found: TypeAlias = "tuple[list[Record], list[float]]"


@cython.ccall
def radians(degrees_: cython.double) -> cython.double:
    """Degrees as radians."""
    return degrees_ * _RADIANS_PER_DEGREE


@cython.ccall
def degrees(radians_: cython.double) -> cython.double:
    """Radians as degrees."""
    return radians_ / _RADIANS_PER_DEGREE


# -- geohashes ---------------------------------------------------------------------------------


@cython.ccall
def edge(line: cython.long, step: cython.int, maximum: cython.double) -> cython.double:
    """The degree of a line between cells, of 2**step on a map that ends at `maximum`."""
    lines: cython.long = 1 << step
    return -maximum + (line * 1.0 / lines) * (maximum + maximum)


@cython.cfunc
def _longitude(bits: cython.ulonglong) -> cython.double:
    return _middle(_gather(bits >> 1), _LONGITUDE_MAX)


@cython.cfunc
def _latitude(bits: cython.ulonglong) -> cython.double:
    return _middle(_gather(bits), _LATITUDE_MAX)


@cython.cfunc
def _middle(line: cython.long, maximum: cython.double) -> cython.double:
    """The degree halfway between a line and the next, on the map."""
    low: cython.double = edge(line, _STEP_MAX, maximum)
    high: cython.double = edge(line + 1, _STEP_MAX, maximum)
    middle: cython.double = (low + high) / 2
    if middle > maximum:
        return maximum
    return -maximum if middle < -maximum else middle


@cython.cfunc
def _gather(number: cython.ulonglong) -> cython.ulonglong:
    """Every other bit of a number, from the lowest on, side by side."""
    number &= _MASK_1
    number = (number | number >> 1) & _MASK_2
    number = (number | number >> 2) & _MASK_4
    number = (number | number >> 4) & _MASK_8
    number = (number | number >> 8) & _MASK_16
    return (number | number >> 16) & _MASK_32


@cython.cfunc
def _whole_bits(score: cython.double) -> cython.ulonglong:
    """A score as 64 bits, as processors make it of a floating-point number."""
    bits: cython.ulonglong = _TOP_BIT if score < 0 else 0  # beyond 64 bits
    if not cython.compiled:
        if -_TWO_63 <= score < 2 * _TWO_63:
            bits = int(score) & (1 << 64) - 1
    elif -_TWO_63 <= score < _TWO_63:
        bits = cython.cast(cython.ulonglong, cython.cast(cython.long, score))
    elif _TWO_63 <= score < 2 * _TWO_63:
        bits = cython.cast(cython.ulonglong, score)
    return bits


# -- distances ---------------------------------------------------------------------------------


@cython.ccall
def arc_m(
    longitude: cython.double,
    latitude: cython.double,
    other_longitude: cython.double,
    other_latitude: cython.double,
) -> cython.double:
    """Meters between two places, along a great circle (haversine)."""
    half_longitude: cython.double = sin((radians(other_longitude) - radians(longitude)) / 2)
    if half_longitude == 0.0:
        return latitude_distance_m(latitude, other_latitude)
    first: cython.double = radians(latitude)
    second: cython.double = radians(other_latitude)
    half_latitude: cython.double = sin((second - first) / 2)
    root: cython.double = sqrt(
        half_latitude * half_latitude + cos(first) * cos(second) * half_longitude * half_longitude
    )
    # Opposite places may come out a little farther than that.
    return 2.0 * _RADIUS_M * asin(1.0 if root > 1.0 else root)


@cython.ccall
def latitude_distance_m(latitude: cython.double, other: cython.double) -> cython.double:
    """Meters along a meridian."""
    return _RADIUS_M * fabs(radians(other) - radians(latitude))


# -- searching ---------------------------------------------------------------------------------


def within_circle(
    records: list[Record],
    longitude: cython.double,
    latitude: cython.double,
    radius_m: cython.double,
    most: cython.Py_ssize_t,
) -> Found:
    """The places no farther from the center than the radius: the first `most`, all if that is 0."""
    found: list[Record] = []
    distances: list[float] = []
    count: cython.Py_ssize_t = 0
    place: cython.Py_ssize_t
    for place in range(len(records)):
        if cython.compiled:
            prefetch(records, place)  # type: ignore[name-defined]  # noqa: F821
        record: bytes = records[place]
        bits: cython.ulonglong = _whole_bits(score_of(record))
        far_m: cython.double = arc_m(longitude, latitude, _longitude(bits), _latitude(bits))
        if far_m <= radius_m:
            found.append(record)
            distances.append(far_m)
            count += 1
            if count == most:
                break
    return found, distances


def within_box(
    records: list[Record],
    longitude: cython.double,
    latitude: cython.double,
    half_width_m: cython.double,
    half_height_m: cython.double,
    most: cython.Py_ssize_t,
) -> Found:
    """Return the places in a box around the center: the first `most`, all if that is 0."""
    found: list[Record] = []
    distances: list[float] = []
    count: cython.Py_ssize_t = 0
    place: cython.Py_ssize_t
    for place in range(len(records)):
        if cython.compiled:
            prefetch(records, place)  # type: ignore[name-defined]  # noqa: F821
        record: bytes = records[place]
        bits: cython.ulonglong = _whole_bits(score_of(record))
        north: cython.double = _latitude(bits)
        east: cython.double = _longitude(bits)
        if latitude_distance_m(north, latitude) > half_height_m:
            continue
        if arc_m(east, north, longitude, north) > half_width_m:
            continue
        found.append(record)
        distances.append(arc_m(longitude, latitude, east, north))
        count += 1
        if count == most:
            break
    return found, distances


HASH_BITS = 2 * STEP_MAX

_ALPHABET = b"0123456789bcdefghjkmnpqrstuvwxyz"
_TEXT_LATITUDE_MAX = 90.0
_TEXT_CHARACTERS = 11
_CHARACTER_BITS = 5


class Place(NamedTuple):
    """Degrees."""

    longitude: float
    latitude: float

    @property
    def is_on_map(self) -> bool:
        """True if the place lies on the map, so that it can be stored."""
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
        return edge(self.column, self.step, LONGITUDE_MAX)

    @property
    def east_edge(self) -> float:
        return edge(self.column + 1, self.step, LONGITUDE_MAX)

    @property
    def south_edge(self) -> float:
        return edge(self.row, self.step, LATITUDE_MAX)

    @property
    def north_edge(self) -> float:
        return edge(self.row + 1, self.step, LATITUDE_MAX)


def _spread(number: int) -> int:
    """A number of 32 bits with its bits at every other place."""
    number = (number | number << 16) & 0x0000FFFF0000FFFF
    number = (number | number << 8) & 0x00FF00FF00FF00FF
    number = (number | number << 4) & 0x0F0F0F0F0F0F0F0F
    number = (number | number << 2) & 0x3333333333333333
    return (number | number << 1) & 0x5555555555555555


def encode(place: Place) -> int:
    """The number that a sorted set keeps for a place."""
    return Cell.of(place, STEP_MAX).bits


def decode(score: cython.double) -> Place:
    """The centre of the cell that a score encodes."""
    bits: cython.ulonglong = _whole_bits(score)
    return Place(_longitude(bits), _latitude(bits))


def text_of(place: Place) -> bytes:
    """The geohash as eleven characters."""
    bits = Cell.of(place, STEP_MAX, _TEXT_LATITUDE_MAX).bits
    characters = bytearray()
    for count in range(1, _TEXT_CHARACTERS + 1):
        shift = HASH_BITS - count * _CHARACTER_BITS
        # There are no bits for the last one.
        characters.append(_ALPHABET[bits >> shift & 31 if shift >= 0 else 0])
    return bytes(characters)


def distance_m(first: Place, second: Place) -> float:
    """Meters along a great circle."""
    return arc_m(*first, *second)
