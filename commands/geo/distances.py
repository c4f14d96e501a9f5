"""Where geohashes are, in degrees, and how far from a center: the loops of a search, compiled.

A search decodes each geohash in the cells that it looks through, and makes no object of those that
are not within its shape.

Floating-point operations are in the same order as in Redis, because the last digit of a distance
depends on it.
"""

from __future__ import annotations

from math import pi
from typing import TypeAlias

import cython

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
def edge(line: cython.longlong, step: cython.int, maximum: cython.double) -> cython.double:
    """The degree of a line between cells, of 2**step on a map that ends at `maximum`."""
    lines: cython.longlong = 1 << step
    return -maximum + (line * 1.0 / lines) * (maximum + maximum)


def decode(score: cython.double) -> tuple[float, float]:
    """Longitude and latitude of the centre of the cell that a score encodes."""
    bits: cython.ulonglong = _whole_bits(score)
    return _longitude(bits), _latitude(bits)


@cython.cfunc
def _longitude(bits: cython.ulonglong) -> cython.double:
    return _middle(_gather(bits >> 1), _LONGITUDE_MAX)


@cython.cfunc
def _latitude(bits: cython.ulonglong) -> cython.double:
    return _middle(_gather(bits), _LATITUDE_MAX)


@cython.cfunc
def _middle(line: cython.longlong, maximum: cython.double) -> cython.double:
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
        bits = cython.cast(cython.ulonglong, cython.cast(cython.longlong, score))
    elif _TWO_63 <= score < 2 * _TWO_63:
        bits = cython.cast(cython.ulonglong, score)
    return bits


# -- distances ---------------------------------------------------------------------------------


@cython.ccall
def distance_m(
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
        far_m: cython.double = distance_m(longitude, latitude, _longitude(bits), _latitude(bits))
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
        if distance_m(east, north, longitude, north) > half_width_m:
            continue
        found.append(record)
        distances.append(distance_m(longitude, latitude, east, north))
        count += 1
        if count == most:
            break
    return found, distances
