"""GEOADD, GEOPOS, GEODIST, GEOHASH."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import NIL, SYNTAX_ERROR, WRONG_TYPE, Conversation

SICILY = "GEOADD geo 13.361389 38.115556 Palermo 15.087269 37.502669 Catania"


def test_places_are_scores_and_propagated_as_such(talk: Conversation) -> None:
    assert talk.do(SICILY) == b":2\r\n"
    assert talk.events() == ["new geo", "zadd geo"]
    assert talk.propagated() == ["ZADD geo 3479099956230698 Palermo 3479447370796909 Catania"]
    assert talk.do("ZSCORE geo Palermo") == b"$16\r\n3479099956230698\r\n"
    assert talk.do(SICILY) == b":0\r\n"
    assert talk.events() == talk.propagated() == []
    assert talk.do("GEOADD geo NX 1 2 Palermo") == talk.do("GEOADD geo XX 1 2 Rome") == b":0\r\n"
    assert talk.do("GEOADD geo XX CH 1 2 Palermo") == b":1\r\n"
    assert talk.propagated() == ["ZADD geo XX CH 3378080408407459 Palermo"]


def test_where_places_are(talk: Conversation) -> None:
    talk.all(SICILY)
    place = b"$18\r\n13.361389338970184\r\n$16\r\n38.1155563954963\r\n"
    assert talk.do("GEOPOS geo Palermo none") == b"*2\r\n*2\r\n" + place + b"*-1\r\n"
    assert talk.do("GEOPOS none Palermo") == b"*1\r\n*-1\r\n"
    assert talk.do("GEOPOS geo") == b"*0\r\n"
    assert talk.do("GEOHASH geo Catania none") == b"*2\r\n$11\r\nsqdtr74hyu0\r\n$-1\r\n"
    talk.all("HELLO 3")
    assert talk.do("GEOPOS geo Palermo none") == (
        b"*2\r\n*2\r\n,13.361389338970184\r\n,38.1155563954963\r\n_\r\n"
    )


@pytest.mark.parametrize(
    ("unit", "distance"),
    [("", b"166274.1516"), ("KM", b"166.2742"), ("mi", b"103.3182"), ("ft", b"545518.8700")],
)
def test_how_far_places_are_from_each_other(talk: Conversation, unit: str, distance: bytes) -> None:
    talk.all(SICILY)
    assert talk.do(f"GEODIST geo Palermo Catania {unit}").split(b"\r\n")[1] == distance
    assert talk.do(f"GEODIST geo Palermo none {unit}") == NIL
    assert talk.do(f"GEODIST none Palermo Catania {unit}") == NIL


UNIT = b"-ERR unsupported unit provided. please use M, KM, FT, MI\r\n"


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ("GEOADD geo 1 2 a 3", SYNTAX_ERROR),
        ("GEOADD geo NX XX 1 2 a", SYNTAX_ERROR),
        ("GEOADD geo NX CH CH XX", SYNTAX_ERROR),
        ("GEOADD geo x 2 a", b"-ERR value is not a valid float\r\n"),
        (
            "GEOADD geo 1 2 a 200 2 b",
            b"-ERR invalid longitude,latitude pair 200.000000,2.000000\r\n",
        ),
        ("GEOADD text 1 2 a", WRONG_TYPE),
        ("GEOPOS text a", WRONG_TYPE),
        ("GEOHASH text a", WRONG_TYPE),
        ("GEODIST text a b", WRONG_TYPE),
        ("GEODIST text a b parsec", UNIT),
        ("GEODIST geo a b m m", SYNTAX_ERROR),
    ],
)
def test_what_is_refused(talk: Conversation, request_: str, error: bytes) -> None:
    talk.all("SET text x")
    assert talk.do(request_) == error
    assert talk.do("EXISTS geo") == b":0\r\n"
