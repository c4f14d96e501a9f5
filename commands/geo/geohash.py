"""Geohashes: a place as a number of 52 bits, stored as a score of a sorted set.

The map is divided into halves, again and again, by longitude and by latitude in turn; each halving
is a bit. A cell of `step` halvings in either direction has 2 * step bits, and all places in it have
them as the first bits of their numbers.

Latitudes end at 85.05112878 degrees, where a square map of the world (Web Mercator) ends. The text
of GEOHASH goes up to 90 degrees, as geohashes do elsewhere.
"""

from __future__ import annotations

from typing import NamedTuple

from commands.geo import distances
from commands.geo.distances import LATITUDE_MAX, LONGITUDE_MAX, STEP_MAX, edge
from protocol.records import frozen_record

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


def decode(score: float) -> Place:
    """The centre of the cell that a score encodes."""
    return Place(*distances.decode(score))


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
    return distances.distance_m(*first, *second)
