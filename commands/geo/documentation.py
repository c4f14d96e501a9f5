"""Documentation of the commands of places on a map (commands/core/documentation.py)."""

from __future__ import annotations

from commands.core.documentation import Row

GROUP = "geo"
SINCE = "3.2.0"

_CENTER_AND_SHAPE = (
    "<FROMMEMBER member | FROMLONLAT longitude latitude>"
    " <BYRADIUS radius <M | KM | FT | MI> | BYBOX width height <M | KM | FT | MI>>"
)
_DETAILS = "[WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]] [ASC | DESC]"
_PER_SEARCH = (
    "O(N+log(M)) with N the number of places in the cells around the shape and M the number of"
    " those within it."
)
_RADIUS_HISTORY = [("6.2.0", "Added the option `ANY` of `COUNT`."), ("7.0.0", "Units in any case.")]
_STORES = "[STORE key | STOREDIST key]"
_UNITS = "<M | KM | FT | MI>"

ROWS = {
    "GEOADD": Row(
        "Adds places to a sorted set, or moves those that it has.",
        "key [NX | XX] [CH] longitude latitude member [longitude latitude member ...]",
        complexity="O(log N) for each place, with N the size of the sorted set.",
        history=[("6.2.0", "Added the options `CH`, `NX` and `XX`.")],
    ),
    "GEODIST": Row(
        "Returns the distance between two places.",
        "key member1 member2 [M | KM | FT | MI]",
    ),
    "GEOHASH": Row(
        "Returns places as geohashes, the usual text for them.",
        "key [member [member ...]]",
        complexity="O(1) for each member.",
    ),
    "GEOPOS": Row(
        "Returns where places are.",
        "key [member [member ...]]",
        complexity="O(1) for each member.",
    ),
    "GEORADIUS": Row(
        "Returns or stores the places within a circle.",
        f"key longitude latitude radius {_UNITS} {_DETAILS} {_STORES}",
        complexity=_PER_SEARCH,
        history=_RADIUS_HISTORY,
        deprecated=("6.2.0", "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` argument"),
    ),
    "GEORADIUSBYMEMBER": Row(
        "Returns or stores the places within a circle around one of them.",
        f"key member radius {_UNITS} {_DETAILS} {_STORES}",
        complexity=_PER_SEARCH,
        history=_RADIUS_HISTORY,
        deprecated=(
            "6.2.0",
            "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` and `FROMMEMBER` arguments",
        ),
    ),
    "GEORADIUSBYMEMBER_RO": Row(
        "Returns the places within a circle around one of them.",
        f"key member radius {_UNITS} {_DETAILS}",
        complexity=_PER_SEARCH,
        since="3.2.10",
        history=_RADIUS_HISTORY,
        deprecated=("6.2.0", "`GEOSEARCH` with the `BYRADIUS` and `FROMMEMBER` arguments"),
    ),
    "GEORADIUS_RO": Row(
        "Returns the places within a circle.",
        f"key longitude latitude radius {_UNITS} {_DETAILS}",
        complexity=_PER_SEARCH,
        since="3.2.10",
        history=_RADIUS_HISTORY,
        deprecated=("6.2.0", "`GEOSEARCH` with the `BYRADIUS` argument"),
    ),
    "GEOSEARCH": Row(
        "Returns the places within a circle or a box.",
        (
            f"key {_CENTER_AND_SHAPE} [ASC | DESC] [COUNT count [ANY]] [WITHCOORD] [WITHDIST]"
            " [WITHHASH]"
        ),
        complexity=_PER_SEARCH,
        since="6.2.0",
        history=[("7.0.0", "Units in any case.")],
    ),
    "GEOSEARCHSTORE": Row(
        "Stores the places within a circle or a box.",
        f"destination source {_CENTER_AND_SHAPE} [ASC | DESC] [COUNT count [ANY]] [STOREDIST]",
        complexity=_PER_SEARCH,
        since="6.2.0",
        history=[("7.0.0", "Units in any case.")],
    ),
}
