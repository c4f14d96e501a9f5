"""The shapes of GEOSEARCH and GEORADIUS, circle and box, and the geohash cells that cover them.

A search scans up to nine cells: the one with the center, and those of its neighbours that overlap
the shape. The cells are large enough for the nine to cover it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from math import cos, isfinite, nan, sqrt

from commands.geo.geometry import (
    EARTH_RADIUS_M,
    HASH_BITS,
    STEP_MAX,
    Cell,
    Found,
    Place,
    degrees,
    radians,
    within_box,
    within_circle,
)
from protocol.records import frozen_record
from storage.types.records import Record

# Half of the way around the earth on a square map.
_MERCATOR_MAX_M = 20037726.37

# Beyond these latitudes cells are so narrow that larger ones are needed.
_NARROW_LATITUDE = 66
_NARROWER_LATITUDE = 80

# (columns to the east, rows to the north) of the cells, in the order in which they are searched.
_AROUND = ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1))


@frozen_record
class Box:
    """A rectangle of degrees."""

    west: float
    south: float
    east: float
    north: float


class Shape(ABC):
    """A shape around a center. Lengths are in units of `unit_m` meters."""

    def __init__(self, center: Place, unit_m: float) -> None:
        self.center = center
        self.unit_m = unit_m

    @property
    @abstractmethod
    def reach_m(self) -> float:
        """The distance from the center to the farthest point."""

    @property
    @abstractmethod
    def half_size_m(self) -> tuple[float, float]:
        """Half of the width and of the height."""

    @abstractmethod
    def within(self, records: list[Record], most: int = 0) -> Found:
        """The places within the shape: the first `most`, all if that is 0."""

    def spans(self) -> Iterator[tuple[int, int]]:
        """The ranges of geohashes to look through: [first, end)."""
        previous: Cell | None = None
        for index, cell in enumerate(self._cells()):
            if cell is None:
                continue
            # A large shape may have the same cell on either side.
            if previous is None or cell != previous:
                shift = HASH_BITS - 2 * cell.step
                yield cell.bits << shift, cell.bits + 1 << shift
            if index:
                previous = cell

    def _cells(self) -> list[Cell | None]:
        """The cells of _AROUND; None for those that do not overlap the shape."""
        box = self._bounds()
        cell = Cell.of(self.center, _step_for(self.reach_m, self.center.latitude))
        if cell.step > 1 and not _neighbours_cover(cell, box):
            cell = Cell.of(self.center, cell.step - 1)
        cells: list[Cell | None] = []
        for east, north in _AROUND:
            is_useful = cell.step < 2 or _may_hold(cell, east, north, box)
            cells.append(cell.neighbour(east, north) if is_useful else None)
        return cells

    def _bounds(self) -> Box:
        longitude, latitude = self.center
        half_width_m, half_height_m = self.half_size_m
        up = degrees(half_height_m / EARTH_RADIUS_M)
        # Where a degree of longitude is shorter, the shape takes more of them.
        farther = latitude - up if latitude < 0 else latitude + up
        shortening = cos(radians(farther)) if isfinite(farther) else nan
        aside = degrees(half_width_m / EARTH_RADIUS_M / shortening)
        return Box(longitude - aside, latitude - up, longitude + aside, latitude + up)


def _step_for(reach_m: float, latitude: float) -> int:
    """The step whose cells are about as large as the reach."""
    if reach_m == 0:
        return STEP_MAX
    step = 1
    while reach_m < _MERCATOR_MAX_M:
        reach_m *= 2
        step += 1
    step -= 2
    if abs(latitude) > _NARROW_LATITUDE:
        step -= 1
        if abs(latitude) > _NARROWER_LATITUDE:
            step -= 1
    return min(max(step, 1), STEP_MAX)


def _neighbours_cover(cell: Cell, box: Box) -> bool:
    """Return True if the cell and its neighbours reach as far as the box."""
    # An edge that is not a number, of a shape without end, is covered.
    return not (
        cell.neighbour(0, 1).north_edge < box.north
        or cell.neighbour(0, -1).south_edge > box.south
        or cell.neighbour(1, 0).east_edge < box.east
        or cell.neighbour(-1, 0).west_edge > box.west
    )


def _may_hold(cell: Cell, east: int, north: int, box: Box) -> bool:
    """Return True if a neighbouring cell may overlap the box."""
    return not (
        (north < 0 and cell.south_edge < box.south)
        or (north > 0 and cell.north_edge > box.north)
        or (east < 0 and cell.west_edge < box.west)
        or (east > 0 and cell.east_edge > box.east)
    )


class Circle(Shape):
    """All places no farther from the center than a radius."""

    def __init__(self, center: Place, radius: float, unit_m: float) -> None:
        super().__init__(center, unit_m)
        self._radius = radius

    @property
    def reach_m(self) -> float:
        return self._radius * self.unit_m

    @property
    def half_size_m(self) -> tuple[float, float]:
        half = self.unit_m * self._radius
        return half, half

    def within(self, records: list[Record], most: int = 0) -> Found:
        return within_circle(records, *self.center, self._radius * self.unit_m, most)


class Rectangle(Shape):
    """All places within a width and a height around the center."""

    def __init__(self, center: Place, width: float, height: float, unit_m: float) -> None:
        super().__init__(center, unit_m)
        self._width = width
        self._height = height

    @property
    def reach_m(self) -> float:
        half_width, half_height = self._width / 2, self._height / 2
        return sqrt(half_width * half_width + half_height * half_height) * self.unit_m

    @property
    def half_size_m(self) -> tuple[float, float]:
        return self.unit_m * (self._width / 2), self.unit_m * (self._height / 2)

    def within(self, records: list[Record], most: int = 0) -> Found:
        half_width_m, half_height_m = self._width * self.unit_m / 2, self._height * self.unit_m / 2
        return within_box(records, *self.center, half_width_m, half_height_m, most)
