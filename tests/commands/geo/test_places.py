"""GEOADD, GEOPOS, GEODIST, GEOHASH.

GEOSEARCH, GEOSEARCHSTORE, GEORADIUS and its kin.
"""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import Conversation

PLACES_AROUND = (
    "GEOADD geo 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.5 37.9 Trapani"
)


@pytest.fixture
def geo(talk: Conversation) -> Conversation:
    talk.all(PLACES_AROUND, "SET text x")
    return talk


def test_the_keys_of_a_search(geo: Conversation) -> None:
    assert geo.do("COMMAND GETKEYS GEORADIUS geo 15 37 1 km STOREDIST x") == (
        b"*2\r\n$3\r\ngeo\r\n$1\r\nx\r\n"
    )
    assert geo.do("COMMAND GETKEYS GEOSEARCHSTORE x geo FROMMEMBER a BYRADIUS 1 km") == (
        b"*2\r\n$1\r\nx\r\n$3\r\ngeo\r\n"
    )
