"""commands/geo/distances.py: distances on a globe. Numbers: Redis 7.0."""

from __future__ import annotations

import pytest

from commands.geo.distances import distance_m, latitude_distance_m
from commands.geo.geohash import Place, decode, encode

PALERMO = decode(encode(Place(13.361389, 38.115556)))
CATANIA = decode(encode(Place(15.087269, 37.502669)))


def test_a_distance_is_that_of_redis() -> None:
    assert b"%.4f" % distance_m(*PALERMO, *CATANIA) == b"166274.1516"
    assert distance_m(*PALERMO, *PALERMO) == 0.0


def test_opposite_places_are_half_of_the_way_around_apart() -> None:
    for longitude in range(-180, 0):
        there = Place(longitude + 180, -12.345)
        assert distance_m(longitude, 12.345, *there) == pytest.approx(20_020_741, rel=1e-5)


def test_a_distance_along_a_meridian_is_one_of_latitudes() -> None:
    longitude, latitude = PALERMO
    there = latitude_distance_m(latitude, 40.0)
    assert distance_m(longitude, latitude, longitude, 40.0) == there
