"""commands/geo/shapes.py: what is within a shape lies in its cells."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands.geo.geometry import HASH_BITS, Place, encode
from commands.geo.shapes import Circle, Rectangle, Shape
from storage.types.records import make_record, member_of

# Away from the poles and the date line, where Redis overlooks places, and so does this.
LONGITUDES, LATITUDES = st.floats(-60, 60), st.floats(-60, 60)


def holds(shape: Shape, place: Place) -> bool:
    return bool(shape.within([make_record(float(encode(place)), b"m")])[0])


@given(LONGITUDES, LATITUDES, st.floats(0, 2e6), st.floats(-1, 1), st.floats(-1, 1), st.booleans())
def test_a_place_within_a_shape_is_in_one_of_its_spans(
    longitude: float, latitude: float, size: float, east: float, north: float, is_round: bool
) -> None:
    center = Place(longitude, latitude)
    shape: Shape
    shape = Circle(center, size, 1.0) if is_round else Rectangle(center, size, size / 2, 1.0)
    degrees = size / 111_000
    place = Place(longitude + east * degrees, latitude + north * degrees)
    if not place.is_on_map:
        return
    score = encode(place)
    if holds(shape, place):
        assert any(start <= score < end for start, end in shape.spans())


def test_a_circle_has_an_edge() -> None:
    circle = Circle(Place(0.0, 0.0), 112.0, 1000.0)
    assert holds(circle, Place(1.0, 0.0))
    assert not holds(circle, Place(1.01, 0.0))
    assert holds(circle, Place(0.0, -1.0))


def test_a_rectangle_is_as_wide_and_as_high_as_it_says() -> None:
    box = Rectangle(Place(0.0, 0.0), 300.0, 100.0, 1000.0)
    assert holds(box, Place(1.3, 0.4))
    assert not holds(box, Place(1.4, 0.0))
    assert not holds(box, Place(0.0, 0.5))


def test_no_cell_is_searched_twice_in_a_row() -> None:
    spans = list(Circle(Place(0.0, 0.0), 3e7, 1.0).spans())
    assert all(first != second for first, second in pairwise(spans[1:]))
    assert {end - start for start, end in spans} == {1 << HASH_BITS - 2}


@pytest.mark.parametrize("size", [float("inf"), 1e308, 1e300])
def test_a_shape_may_have_no_end(size: float) -> None:
    for shape in (Circle(Place(13.0, 38.0), size, 1000.0), Rectangle(Place(1, 1), size, size, 1)):
        assert holds(shape, Place(-170.0, -80.0))
        assert any(start <= encode(Place(20.0, 40.0)) < end for start, end in shape.spans())


def test_a_point_needs_only_the_smallest_cells() -> None:
    spans = list(Circle(Place(10.0, 10.0), 0.0, 1.0).spans())
    assert all(end - start == 1 for start, end in spans)


@pytest.mark.parametrize(
    "shape", [Circle(Place(0, 0), 150, 1e3), Rectangle(Place(0, 0), 9, 9, 1e5)]
)
def test_a_search_ends_when_it_has_found_enough(shape: Shape) -> None:
    places = [Place(0.1 * number, 0.0) for number in range(9)]
    records = [make_record(float(encode(one)), b"%d" % at) for at, one in enumerate(places)]
    found, distances = shape.within(records, 2)
    assert [member_of(record) for record in found] == [b"0", b"1"]
    assert distances == pytest.approx([0, 11_122], abs=1)
