"""GEOADD, GEOPOS, GEODIST, GEOHASH; GEOSEARCH, GEOSEARCHSTORE and the GEORADIUS commands.

A place is a member whose score is its geohash. GEOADD is propagated as the ZADD that it amounts to.

A search without an order returns the places cell by cell (commands/geo/shapes.py), in the order of
their geohashes. COUNT takes the nearest; with ANY, the first that are found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from commands.core.arguments import Arguments, parse_double
from commands.core.client import Client
from commands.core.long_reply import LongReply
from commands.core.registry import (
    DENYOOM,
    MOVABLE_KEYS,
    READONLY,
    WRITE,
    KeySpec,
    command,
    one_key,
    two_keys,
)
from commands.geo.geometry import Place, decode, distance_m, encode, text_of
from commands.geo.shapes import Circle, Rectangle, Shape
from commands.sorted_sets.ranges import store_result
from commands.sorted_sets.scores import encoded, zadd
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.request import Request
from storage.types.records import Record, make_record, member_of, pair_of
from storage.types.sets import ScoreBounds, SortedSetValue

UNITS_M = {b"M": 1.0, b"KM": 1000.0, b"FT": 0.3048, b"MI": 1609.34}

_READS = one_key(b"RO", b"ACCESS")


def parse_place(longitude: bytes, latitude: bytes) -> Place:
    """A place that the map has. Raises ReplyError."""
    place = Place(parse_double(longitude), parse_double(latitude))
    if not place.is_on_map:
        raise errors.invalid_place(*place)
    return place


def parse_unit(word: bytes) -> float:
    """Return the number of meters in a unit. Raises ReplyError."""
    try:
        return UNITS_M[word.upper()]
    except KeyError:
        raise ReplyError(errors.UNSUPPORTED_UNIT) from None


def place_of(value: SortedSetValue, member: bytes) -> Place | None:
    """Where a member is, None if it is not there."""
    score = value.score(member)
    return None if score is None else decode(score)


def distance_reply(distance: float) -> bytes:
    """A distance, in any unit: a bulk string in RESP3, too."""
    return replies.bulk(b"%.4f" % distance)


def place_reply(place: Place, resp: int) -> bytes:
    """An array of longitude and latitude."""
    return replies.array(
        [replies.double(place.longitude, resp), replies.double(place.latitude, resp)]
    )


@command("GEOADD", arity=-5, flags=WRITE | DENYOOM, keys=one_key(b"RW", b"UPDATE"))
def geoadd(client: Client, argv: Request) -> bytes:
    """Integer: how many were added, with CH also those that moved. Source: Redis 7.2."""
    arguments = Arguments(argv, 2)
    while arguments.peek() in (b"NX", b"XX", b"CH"):
        arguments.next()
    options = {word.upper() for word in argv[2 : arguments.position]}
    count, rest = divmod(arguments.remaining, 3)
    if rest or not count or {b"NX", b"XX"} <= options:
        raise ReplyError(errors.SYNTAX)
    words = [b"ZADD", *argv[1 : arguments.position]]
    for _ in range(count):
        place = parse_place(arguments.next(), arguments.next())
        words += (b"%d" % encode(place), arguments.next())
    dirty = client.instance.dirty
    reply = zadd(client, Request(words))
    assert type(reply) is bytes
    if client.instance.dirty != dirty:
        client.propagate(*words)
    return reply


@command("GEOPOS", arity=-2, flags=READONLY, keys=_READS)
def geopos(client: Client, argv: Request) -> bytes:
    """Array of arrays of longitude and latitude, null for a place that is not there.

    Source: Redis 7.2.
    """
    value = client.lookup_typed(argv[1], SortedSetValue)
    places = [None if value is None else place_of(value, member) for member in argv[2:]]
    nothing, resp = replies.NIL_ARRAY[client.resp], client.resp
    return replies.array(
        [nothing if place is None else place_reply(place, resp) for place in places]
    )


@command("GEOHASH", arity=-2, flags=READONLY, keys=_READS)
def geohash(client: Client, argv: Request) -> bytes:
    """Array of bulk strings, null for a place that is not there. Source: Redis 7.2."""
    value = client.lookup_typed(argv[1], SortedSetValue)
    places = [None if value is None else place_of(value, member) for member in argv[2:]]
    texts = [None if place is None else text_of(place) for place in places]
    return replies.array([replies.bulk_or_nil(text, client.resp) for text in texts])


@command("GEODIST", arity=-4, flags=READONLY, keys=_READS)
def geodist(client: Client, argv: Request) -> bytes:
    """Bulk string with four decimals; null if one of the places is not there. Source: Redis 7.2."""
    if len(argv) > 5:
        raise ReplyError(errors.SYNTAX)
    unit_m = parse_unit(argv[4]) if len(argv) == 5 else 1.0
    value = client.lookup_typed(argv[1], SortedSetValue)
    first = None if value is None else place_of(value, argv[2])
    second = None if value is None else place_of(value, argv[3])
    if first is None or second is None:
        return replies.NIL[client.resp]
    return distance_reply(distance_m(first, second) / unit_m)


_STORING = (b"STORE", b"STOREDIST")


def _target_after(keyword: bytes, begin: int) -> KeySpec:
    """The key after the last `keyword`, which is where the result goes if the option repeats.

    Redis 8.2 looks at the first one, so that ACL checked another key than the one written.
    """

    def find(argv: Sequence[bytes]) -> list[int]:
        position, found = begin, list[int]()
        while position + 1 < len(argv):
            word = argv[position].upper()
            if word == keyword:
                found = [position + 1]
            position += 2 if word in _STORING or word == b"COUNT" else 1
        return found

    flags = (b"OW", b"UPDATE", b"INCOMPLETE")
    return KeySpec(begin=begin, keyword=keyword, flags=flags, find=find)


_RADIUS_KEYS, _MEMBER_KEYS = (
    (
        KeySpec(begin=1, flags=(b"RO", b"ACCESS")),
        *(_target_after(keyword, begin) for keyword in _STORING),
    )
    for begin in (6, 5)
)

# A search among more places is done, and answered, in pieces of about a quarter of a millisecond.
FEW_PLACES = 1000
PLACES_AT_ONCE = 1000
DETAILED_PER_PIECE = 50


@record
class _Search:
    """A request. Without a key there is no center if that is a member."""

    value: SortedSetValue | None
    is_new: bool = False  # GEOSEARCH: center and shape are options
    may_store: bool = False  # STORE and STOREDIST are options
    target: bytes | None = None
    stores_distance: bool = False
    center: Place | None = None
    center_by: bytes = b""  # the option that gave it
    shape: tuple[float, ...] = ()  # a radius, or width and height; in units of `unit_m`
    unit_m: float = 1.0
    with_distance: bool = False
    with_hash: bool = False
    with_place: bool = False
    order: bytes = b""
    count: int = 0
    takes_any: bool = False

    @property
    def has_details(self) -> bool:
        return self.with_distance or self.with_hash or self.with_place

    def places_near(self, shape: Shape) -> list[Record]:
        """The places in the cells around the shape, as they are now."""
        assert self.value is not None
        near: list[Record] = []
        for start, end in shape.spans():
            bounds = ScoreBounds(float(start), float(end), excludes_high=True)
            near += self.value.records(*self.value.span_of_scores(bounds))
        return near

    def order_of(self, distances: list[float]) -> Sequence[int]:
        """The indexes of those places that are wanted, in order."""
        order = self.order or (b"ASC" if self.count and not self.takes_any else b"")
        places: Sequence[int] = range(len(distances))
        if order:
            places = sorted(places, key=distances.__getitem__, reverse=order == b"DESC")
        return places[: self.count] if self.count else places

    def made_shape(self) -> Shape:
        assert self.center is not None
        if len(self.shape) == 1:
            return Circle(self.center, self.shape[0], self.unit_m)
        width, height = self.shape
        return Rectangle(self.center, width, height, self.unit_m)


# -- parsing -----------------------------------------------------------------------------------


def _parse_distance(word: bytes, error: bytes, error_if_negative: bytes) -> float:
    distance = parse_double(word, error)
    if distance < 0:
        raise ReplyError(error_if_negative)
    return distance


def _parse_radius(arguments: Arguments, search: _Search) -> None:
    radius = _parse_distance(arguments.next(), errors.RADIUS_NOT_A_NUMBER, errors.RADIUS_NEGATIVE)
    search.unit_m = parse_unit(arguments.next())
    search.shape = (radius,)


def _parse_box(arguments: Arguments, search: _Search) -> None:
    width = parse_double(arguments.next(), errors.WIDTH_NOT_A_NUMBER)
    height = parse_double(arguments.next(), errors.HEIGHT_NOT_A_NUMBER)
    if width < 0 or height < 0:
        raise ReplyError(errors.BOX_NEGATIVE)
    search.unit_m = parse_unit(arguments.next())
    search.shape = (width, height)


def _use_member(member: bytes, search: _Search) -> None:
    """Make a member the center. Without the key it does not matter which it is."""
    search.center_by = b"FROMMEMBER"
    if search.value is not None:
        search.center = place_of(search.value, member)
        if search.center is None:
            raise ReplyError(errors.MEMBER_WITHOUT_PLACE)


def _parse_options(arguments: Arguments, search: _Search) -> None:
    while arguments:
        word, left = arguments.next_keyword(), arguments.remaining
        if word == b"WITHDIST":
            search.with_distance = True
        elif word == b"WITHHASH":
            search.with_hash = True
        elif word == b"WITHCOORD":
            search.with_place = True
        elif word == b"ANY":
            search.takes_any = True
        elif word in (b"ASC", b"DESC"):
            search.order = word
        elif word == b"COUNT" and left:
            search.count = arguments.next_int()
            if search.count <= 0:
                raise ReplyError(errors.COUNT_NOT_POSITIVE)
        elif search.is_new:
            _parse_new_option(word, arguments, search)
        elif word in (b"STORE", b"STOREDIST") and search.may_store and left:
            search.target = arguments.next()
            search.stores_distance = word == b"STOREDIST"
        else:
            raise ReplyError(errors.SYNTAX)


def _parse_new_option(word: bytes, arguments: Arguments, search: _Search) -> None:
    """Parse an option that only GEOSEARCH and GEOSEARCHSTORE take. Raises ReplyError."""
    left = arguments.remaining
    if word == b"FROMMEMBER" and left and search.center_by != b"FROMLONLAT":
        _use_member(arguments.next(), search)
    elif word == b"FROMLONLAT" and left > 1 and search.center_by != b"FROMMEMBER":
        search.center = parse_place(arguments.next(), arguments.next())
        search.center_by = word
    elif word == b"BYRADIUS" and left > 1 and len(search.shape) < 2:
        _parse_radius(arguments, search)
    elif word == b"BYBOX" and left > 2 and len(search.shape) != 1:
        _parse_box(arguments, search)
    elif word == b"STOREDIST" and search.may_store:
        search.stores_distance = True
    else:
        raise ReplyError(errors.SYNTAX)


def _check(search: _Search, command: bytes) -> None:
    """Refuse options that do not go together."""
    if search.target is not None and search.has_details:
        what = b"GEOSEARCHSTORE" if search.is_new else b"STORE option in GEORADIUS"
        raise errors.store_with_details(what)
    if search.is_new and not search.center_by:
        raise errors.exactly_one_of(b"FROMMEMBER or FROMLONLAT", command)
    if search.is_new and not search.shape:
        raise errors.exactly_one_of(b"BYRADIUS and BYBOX", command)
    if search.takes_any and not search.count:
        raise ReplyError(errors.ANY_WITHOUT_COUNT)


# -- answering ---------------------------------------------------------------------------------


def _answer(client: Client, search: _Search) -> bytes | LongReply:
    if search.target is not None:
        return store_result(client, search.target, _result(client, search), _event(search))
    if search.value is None:
        return replies.EMPTY_ARRAY
    shape = search.made_shape()
    records = search.places_near(shape)
    if search.takes_any:
        found = shape.within(records, search.count)
        reply = LongReply(_pieces(search, *found, client.resp))
        return reply if len(found[0]) > FEW_PLACES else reply.join()
    if len(records) <= FEW_PLACES:
        return b"".join(_pieces(search, *shape.within(records), client.resp))
    return LongReply(_search_in_pieces(search, shape, records, client.resp))


def _result(client: Client, search: _Search) -> SortedSetValue | None:
    """Return the sorted set to store; None if no place was found."""
    if search.value is None:
        return None
    shape = search.made_shape()
    most = search.count if search.takes_any else 0
    records, distances = shape.within(search.places_near(shape), most)
    if search.count:
        places = search.order_of(distances)
        records, distances = [records[one] for one in places], [distances[one] for one in places]
    if search.stores_distance:
        records = [
            make_record(distance_m / search.unit_m, member_of(record))
            for distance_m, record in zip(distances, records, strict=True)
        ]
    return SortedSetValue.of_records(records, client.instance.encoding_limits) if records else None


def _event(search: _Search) -> bytes:
    return b"geosearchstore" if search.is_new else b"georadiusstore"


def _search_in_pieces(
    search: _Search, shape: Shape, records: list[Record], resp: int
) -> Iterator[bytes]:
    """The reply of a search among many places: empty pieces while it goes on."""
    found: list[Record] = []
    distances: list[float] = []
    for start in range(0, len(records), PLACES_AT_ONCE):
        some = shape.within(records[start : start + PLACES_AT_ONCE])
        found += some[0]
        distances += some[1]
        yield b""
    yield from _pieces(search, found, distances, resp)


def _pieces(
    search: _Search, records: list[Record], distances: list[float], resp: int
) -> Iterator[bytes]:
    """The reply, some items at a time."""
    places = search.order_of(distances)
    yield replies.array_header(len(places))
    has_details = search.has_details
    step = DETAILED_PER_PIECE if has_details else PLACES_AT_ONCE
    for start in range(0, len(places), step):
        some = places[start : start + step]
        if has_details:
            yield b"".join([_item(records[one], distances[one], search, resp) for one in some])
        else:
            yield encoded([records[one] for one in some], resp, False)


def _item(record: Record, distance_m: float, search: _Search, resp: int) -> bytes:
    """A member with the details that were asked for."""
    score, member = pair_of(record)
    parts = [replies.bulk(member)]
    if search.with_distance:
        parts.append(distance_reply(distance_m / search.unit_m))
    if search.with_hash:
        parts.append(replies.integer(int(score)))
    if search.with_place:
        parts.append(place_reply(decode(score), resp))
    return replies.array(parts)


def _radius(client: Client, argv: Request, *, may_store: bool) -> bytes | LongReply:
    """GEORADIUS: a center by its degrees."""
    search = _Search(client.lookup_typed(argv[1], SortedSetValue), may_store=may_store)
    search.center = parse_place(argv[2], argv[3])
    arguments = Arguments(argv, 4)
    _parse_radius(arguments, search)
    return _search(client, argv, arguments, search)


def _radius_by_member(client: Client, argv: Request, *, may_store: bool) -> bytes | LongReply:
    """GEORADIUSBYMEMBER: a member as the center."""
    search = _Search(client.lookup_typed(argv[1], SortedSetValue), may_store=may_store)
    arguments = Arguments(argv, 3)
    if search.value is None:
        arguments.position += 2  # the radius is not parsed then
    else:
        _use_member(argv[2], search)
        _parse_radius(arguments, search)
    return _search(client, argv, arguments, search)


def _search(
    client: Client, argv: Request, arguments: Arguments, search: _Search
) -> bytes | LongReply:
    _parse_options(arguments, search)
    _check(search, argv[0])
    return _answer(client, search)


# -- the commands ------------------------------------------------------------------------------


@command("GEOSEARCH", arity=-7, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def geosearch(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members; with details, of arrays that begin with them. Source: Redis 7.2."""
    search = _Search(client.lookup_typed(argv[1], SortedSetValue), is_new=True)
    return _search(client, argv, Arguments(argv, 2), search)


@command(
    "GEOSEARCHSTORE",
    arity=-8,
    flags=WRITE | DENYOOM,
    keys=two_keys((b"OW", b"UPDATE"), (b"RO", b"ACCESS")),
)
def geosearchstore(client: Client, argv: Request) -> bytes | LongReply:
    """Integer: how many were stored; with none, the destination is removed. Source: Redis 7.2."""
    value = client.lookup_typed(argv[2], SortedSetValue)
    search = _Search(value, is_new=True, may_store=True, target=argv[1])
    return _search(client, argv, Arguments(argv, 3), search)


@command("GEORADIUS", arity=-6, flags=WRITE | DENYOOM | MOVABLE_KEYS, keys=_RADIUS_KEYS)
def georadius(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members, or of arrays with details; with STORE or STOREDIST the number stored."""
    return _radius(client, argv, may_store=True)


@command("GEORADIUS_RO", arity=-6, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def georadius_ro(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members; with details, of arrays that begin with them."""
    return _radius(client, argv, may_store=False)


@command("GEORADIUSBYMEMBER", arity=-5, flags=WRITE | DENYOOM | MOVABLE_KEYS, keys=_MEMBER_KEYS)
def georadiusbymember(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members, or of arrays with details; with STORE or STOREDIST the number stored."""
    return _radius_by_member(client, argv, may_store=True)


@command("GEORADIUSBYMEMBER_RO", arity=-5, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def georadiusbymember_ro(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members; with details, of arrays that begin with them."""
    return _radius_by_member(client, argv, may_store=False)
