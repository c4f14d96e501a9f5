"""commands/geo/geometry.py: distances on a globe. Numbers: Redis 7.0.

commands/geo/geometry.py: places, cells and distances. Numbers: Redis 7.0.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands.geo.geometry import (
    LATITUDE_MAX,
    Cell,
    Place,
    arc_m,
    decode,
    encode,
    latitude_distance_m,
    text_of,
)

STORED_PALERMO = decode(encode(Place(13.361389, 38.115556)))
STORED_CATANIA = decode(encode(Place(15.087269, 37.502669)))


def test_a_distance_is_that_of_redis() -> None:
    assert b"%.4f" % arc_m(*STORED_PALERMO, *STORED_CATANIA) == b"166274.1516"
    assert arc_m(*STORED_PALERMO, *STORED_PALERMO) == 0.0


def test_opposite_places_are_half_of_the_way_around_apart() -> None:
    for longitude in range(-180, 0):
        there = Place(longitude + 180, -12.345)
        assert arc_m(longitude, 12.345, *there) == pytest.approx(20_020_741, rel=1e-5)


def test_a_distance_along_a_meridian_is_one_of_latitudes() -> None:
    longitude, latitude = STORED_PALERMO
    there = latitude_distance_m(latitude, 40.0)
    assert arc_m(longitude, latitude, longitude, 40.0) == there


PALERMO = Place(13.361389, 38.115556)
CATANIA = Place(15.087269, 37.502669)
PLACES = st.builds(
    Place, st.floats(-180, 180), st.floats(-LATITUDE_MAX, LATITUDE_MAX, allow_nan=False)
)


def test_a_place_is_a_number_of_52_bits() -> None:
    assert encode(PALERMO) == 3479099956230698
    assert encode(CATANIA) == 3479447370796909
    assert decode(3479099956230698) == Place(13.361389338970184, 38.1155563954963)


@given(PLACES)
def test_a_place_comes_back_within_its_cell(place: Place) -> None:
    found = decode(encode(place))
    assert abs(found.longitude - place.longitude) < 1e-5 or abs(place.longitude) == 180
    assert abs(found.latitude - place.latitude) < 1e-5 or abs(place.latitude) == LATITUDE_MAX


@pytest.mark.parametrize(
    ("score", "place"),
    [
        (-5.0, Place(180.0, LATITUDE_MAX)),
        (1e300, Place(-179.999997317791, -85.0511275126394)),
        (float("-inf"), Place(180.0, -85.0511275126394)),
    ],
)
def test_any_score_stands_for_some_place(score: float, place: Place) -> None:
    assert decode(score).longitude == pytest.approx(place.longitude)
    assert decode(score).is_on_map


def test_the_map_has_edges() -> None:
    assert Place(-180.0, LATITUDE_MAX).is_on_map
    assert not Place(180.1, 0.0).is_on_map
    assert not Place(0.0, 85.06).is_on_map


def test_the_text_of_a_place() -> None:
    assert text_of(decode(encode(PALERMO))) == b"sqc8b49rny0"
    assert text_of(decode(encode(CATANIA))) == b"sqdtr74hyu0"


def test_neighbours_go_around_the_world() -> None:
    cell = Cell.of(Place(179.9, 0.1), 2)
    assert (cell.column, cell.row) == (3, 2)
    assert cell.neighbour(1, 0) == Cell(0, 2, 2)
    assert cell.neighbour(-1, 1) == Cell(2, 3, 2)
    assert cell.neighbour(0, 2) == Cell(3, 0, 2)
    assert (cell.west_edge, cell.east_edge) == (90.0, 180.0)
    assert cell.south_edge == 0.0
    assert cell.north_edge == pytest.approx(LATITUDE_MAX / 2)
