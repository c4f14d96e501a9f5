"""The fields of entries as lists of values by name, without a dict for each entry.

Most entries of a stream have the same names in the same order: then a column is every n-th word of
them all. Where names differ, each entry refers to the layout of its names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain


class FieldColumns:
    """The fields of some entries. Of a name that comes twice in one, the last value."""

    def __init__(self, flats: Sequence[Sequence[bytes]]) -> None:
        """`flats`: names and values in turn, as the server sends them."""
        self.flats = flats
        self._names = tuple(flats[0][::2]) if flats else ()
        self._words: list[bytes] = []
        self._layouts: list[Mapping[bytes, int]] = []
        if not self._are_alike():
            known: dict[tuple[bytes, ...], Mapping[bytes, int]] = {}
            for flat in flats:
                names = tuple(flat[::2])
                layout = known.get(names) or known.setdefault(names, places(names))
                self._layouts.append(layout)

    def _are_alike(self) -> bool:
        width = 2 * len(self._names)
        if set(map(len, self.flats)) != {width}:
            return not self.flats
        self._words = list(chain.from_iterable(self.flats))
        return all(
            self._words[2 * place :: width].count(name) == len(self.flats)
            for place, name in enumerate(self._names)
        )

    def values(self, name: bytes) -> list[bytes | None]:
        """One value for each entry, None where it has no such field."""
        if self._layouts:
            return [
                None if (place := layout.get(name)) is None else flat[place]
                for flat, layout in zip(self.flats, self._layouts, strict=True)
            ]
        place = places(self._names).get(name)
        if place is None:
            return [None] * len(self.flats)
        return [*self._words[place :: 2 * len(self._names)]]


def places(names: Sequence[bytes]) -> dict[bytes, int]:
    """Where the value of each name is, among names and values in turn."""
    return {name: 2 * place + 1 for place, name in enumerate(names)}


def last_values(flat: Sequence[bytes]) -> dict[bytes, bytes]:
    return dict(zip(flat[::2], flat[1::2], strict=True))
