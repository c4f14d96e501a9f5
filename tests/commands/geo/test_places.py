"""GEOADD, GEOPOS, GEODIST, GEOHASH.

GEOSEARCH, GEOSEARCHSTORE, GEORADIUS and its kin.
"""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import (
    NIL,
    NOT_AN_INTEGER,
    SYNTAX_ERROR,
    WRONG_TYPE,
    Conversation,
)

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


PLACES_AROUND = (
    "GEOADD geo 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.5 37.9 Trapani"
)


@pytest.fixture
def geo(talk: Conversation) -> Conversation:
    talk.all(PLACES_AROUND, "SET text x")
    return talk


def flat(reply: bytes) -> str:
    return b" ".join(reply.split(b"\r\n")[2::2]).decode()


@pytest.mark.parametrize(
    ("request_", "found"),
    [
        ("GEOSEARCH geo FROMLONLAT 15 37 BYRADIUS 200 km", "Palermo Catania"),
        ("GEOSEARCH geo FROMLONLAT 15 37 BYRADIUS 200 km ASC", "Catania Palermo"),
        ("GEOSEARCH geo FROMLONLAT 15 37 BYRADIUS 300 KM DESC", "Trapani Palermo Catania"),
        ("GEOSEARCH geo FROMLONLAT 15 37 BYRADIUS 300 km COUNT 2", "Catania Palermo"),
        ("GEOSEARCH geo FROMLONLAT 15 37 BYRADIUS 300 km COUNT 1 ANY", "Trapani"),
        ("GEOSEARCH geo FROMMEMBER Palermo BYBOX 170 60 km", "Trapani Palermo"),
        ("GEOSEARCH geo FROMMEMBER Palermo BYRADIUS 1 m", "Palermo"),
        ("GEOSEARCH geo FROMLONLAT 0 0 BYRADIUS 1 m", ""),
        ("GEOSEARCH none FROMMEMBER Palermo BYRADIUS 1 m", ""),
        ("GEORADIUS geo 15 37 200 km DESC", "Palermo Catania"),
        ("GEORADIUS_RO geo 15 37 200 km COUNT 1", "Catania"),
        ("GEORADIUSBYMEMBER geo Palermo 100 km", "Trapani Palermo"),
        ("GEORADIUSBYMEMBER_RO geo Palermo 100 km ASC", "Palermo Trapani"),
        ("GEORADIUSBYMEMBER none Palermo x km", ""),
    ],
)
def test_places_within_a_shape(geo: Conversation, request_: str, found: str) -> None:
    assert flat(geo.do(request_)) == found
    assert geo.propagated() == []


def test_details(geo: Conversation) -> None:
    search = "GEOSEARCH geo FROMLONLAT 15 37 BYRADIUS 100 km WITHCOORD WITHHASH WITHDIST"
    start = b"*1\r\n*4\r\n$7\r\nCatania\r\n$7\r\n56.4413\r\n:3479447370796909\r\n*2\r\n"
    assert geo.do(search) == (start + b"$18\r\n15.087267458438873\r\n$17\r\n37.50266842333162\r\n")
    geo.all("HELLO 3")
    assert geo.do(search) == start + b",15.087267458438873\r\n,37.50266842333162\r\n"


def test_a_search_is_stored(geo: Conversation) -> None:
    words = "geo FROMLONLAT 15 37 BYRADIUS 200 km"
    assert geo.do(f"GEOSEARCHSTORE text {words}") == b":2\r\n"
    assert geo.events() == ["geosearchstore text"]
    assert geo.propagated() == [f"GEOSEARCHSTORE text {words}"]
    assert geo.do("ZSCORE text Palermo") == b"$16\r\n3479099956230698\r\n"
    assert geo.do(f"GEOSEARCHSTORE text {words} STOREDIST COUNT 1") == b":1\r\n"
    assert flat(geo.do("ZRANGE text 0 -1 WITHSCORES")) == "Catania 56.4412578701582"
    geo.events()
    assert geo.do("GEORADIUS geo 15 37 200 km STORE other") == b":2\r\n"
    assert geo.events() == ["new other", "georadiusstore other"]
    assert geo.do("GEORADIUSBYMEMBER geo Catania 1 km STOREDIST other") == b":1\r\n"
    assert flat(geo.do("ZRANGE other 0 -1 WITHSCORES")) == "Catania 0"
    assert geo.do("GEORADIUS none 15 37 200 km STORE other") == b":0\r\n"
    assert geo.events()[-1] == "del other"


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ("GEOSEARCH geo FROMLONLAT 15 37 BYRADIUS x km", b"-ERR need numeric radius\r\n"),
        ("GEOSEARCH geo FROMLONLAT 15 37 BYRADIUS -1 km", b"-ERR radius cannot be negative\r\n"),
        ("GEOSEARCH geo FROMLONLAT 15 37 BYBOX x 1 km", b"-ERR need numeric width\r\n"),
        ("GEOSEARCH geo FROMLONLAT 15 37 BYBOX 1 x km", b"-ERR need numeric height\r\n"),
        (
            "GEOSEARCH geo FROMLONLAT 15 37 BYBOX 1 -1 km",
            b"-ERR height or width cannot be negative\r\n",
        ),
        (
            "GEOSEARCH geo FROMLONLAT 15 37 BYRADIUS 1 x",
            b"-ERR unsupported unit provided. please use M, KM, FT, MI\r\n",
        ),
        (
            "geosearch geo BYRADIUS 1 km ASC COUNT 1",
            b"-ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for geosearch\r\n",
        ),
        (
            "GEOSEARCH geo FROMLONLAT 15 37 ASC COUNT 1",
            b"-ERR exactly one of BYRADIUS and BYBOX can be specified for GEOSEARCH\r\n",
        ),
        ("GEOSEARCH geo FROMLONLAT 15 37 FROMMEMBER Palermo BYRADIUS 1 km", SYNTAX_ERROR),
        ("GEOSEARCH geo FROMLONLAT 15 37 BYRADIUS 1 km BYBOX 1 1 km", SYNTAX_ERROR),
        ("GEOSEARCH geo FROMLONLAT 15 37 BYRADIUS 1 km STOREDIST", SYNTAX_ERROR),
        ("GEOSEARCH geo FROMLONLAT 15 37 BYRADIUS 1 km STORE x", SYNTAX_ERROR),
        (
            "GEOSEARCH geo FROMMEMBER none BYRADIUS 1 km",
            b"-ERR could not decode requested zset member\r\n",
        ),
        ("GEORADIUS geo 15 37 1 km COUNT 0", b"-ERR COUNT must be > 0\r\n"),
        ("GEORADIUS geo 15 37 1 km COUNT x", NOT_AN_INTEGER),
        ("GEORADIUS geo 15 37 1 km ANY", b"-ERR the ANY argument requires COUNT argument\r\n"),
        ("GEORADIUS geo 15 37 1 km STORE", SYNTAX_ERROR),
        ("GEORADIUS_RO geo 15 37 1 km STORE x", SYNTAX_ERROR),
        (
            "GEORADIUS geo 15 37 1 km STORE x WITHDIST",
            b"-ERR STORE option in GEORADIUS is not compatible with WITHDIST, WITHHASH and "
            b"WITHCOORD options\r\n",
        ),
        (
            "GEOSEARCHSTORE x geo FROMLONLAT 15 37 BYRADIUS 1 km WITHHASH",
            b"-ERR GEOSEARCHSTORE is not compatible with WITHDIST, WITHHASH and WITHCOORD "
            b"options\r\n",
        ),
        ("GEOSEARCH text FOO 1 2 3 4 5", WRONG_TYPE),
        ("GEORADIUS text 15 370 1 km", WRONG_TYPE),
        ("GEORADIUSBYMEMBER text a 1 km", WRONG_TYPE),
    ],
)
def test_what_a_search_refuses(geo: Conversation, request_: str, error: bytes) -> None:
    assert geo.do(request_) == error
    assert geo.do("EXISTS x") == b":0\r\n"


def test_the_keys_of_a_search(geo: Conversation) -> None:
    assert geo.do("COMMAND GETKEYS GEORADIUS geo 15 37 1 km STOREDIST x") == (
        b"*2\r\n$3\r\ngeo\r\n$1\r\nx\r\n"
    )
    assert geo.do("COMMAND GETKEYS GEOSEARCHSTORE x geo FROMMEMBER a BYRADIUS 1 km") == (
        b"*2\r\n$1\r\nx\r\n$3\r\ngeo\r\n"
    )
