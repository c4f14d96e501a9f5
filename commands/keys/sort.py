"""SORT and SORT_RO: the elements of a list, a set or a sorted set in another order.

A pattern names other keys: its first `*` stands for the element, and a `->` after that precedes the
field of a hash. BY without a `*` does not sort: lists and sorted sets keep their order. A set has
no order, so it is sorted by its bytes if the result is stored.

Leaves out: collation by locale. ALPHA compares bytes, as Redis does in the locale "C".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import chain
from operator import itemgetter

from commands.acl.checks import may_read_all_keys
from commands.core import notifications
from commands.core.arguments import Arguments, parse_loose_double
from commands.core.client import Client
from commands.core.gates import GATE_RESTRICTED
from commands.core.long_reply import LongReply
from commands.core.registry import DENYOOM, MOVABLE_KEYS, READONLY, WRITE, KeySpec, command
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.request import Request, key_slot, pattern_slot
from storage.types.hashes import HashValue
from storage.types.lists import ListValue
from storage.types.records import member_of
from storage.types.sets import SetValue, SortedSetValue
from storage.types.value import StringValue, as_int64

# Up to this many characters, each whole number is a double of its own.
_EXACT_DIGITS = 15

_ELEMENT = b"#"  # GET of this pattern is the element itself

# A reply of more items is sent in pieces of fewer.
MANY_ITEMS = 10_000
ITEMS_PER_PIECE = 1000

_OPTION_WORDS = {b"LIMIT": 2, b"BY": 1, b"GET": 1, b"STORE": 1}


def store_positions(argv: Sequence[bytes]) -> list[int]:
    """The position of the key that gets the result: after the last STORE."""
    position, found = 2, list[int]()
    while position < len(argv):
        word = argv[position].upper()
        if word == b"STORE" and position + 1 < len(argv):
            found = [position + 1]
        position += 1 + _OPTION_WORDS.get(word, 0)
    return found


_SORTED = KeySpec(begin=1, flags=(b"RO", b"ACCESS"))
_NAMED_BY_PATTERNS = KeySpec(flags=(b"RO", b"ACCESS"), is_unknown=True)
_STORED = KeySpec(flags=(b"OW", b"UPDATE"), is_unknown=True, find=store_positions)


@command(
    "SORT",
    arity=-2,
    flags=WRITE | DENYOOM | MOVABLE_KEYS,
    keys=(_SORTED, _NAMED_BY_PATTERNS, _STORED),
)
def sort(client: Client, argv: Request) -> bytes | LongReply:
    """Array of bulk strings, with STORE an integer: how many. Source: Redis 7.2."""
    return _sort(client, argv[1], _parse(client, argv, may_store=True))


@command("SORT_RO", arity=-2, flags=READONLY | MOVABLE_KEYS, keys=(_SORTED, _NAMED_BY_PATTERNS))
def sort_ro(client: Client, argv: Request) -> bytes | LongReply:
    """Array of bulk strings. Source: Redis 7.2."""
    return _sort(client, argv[1], _parse(client, argv, may_store=False))


@record
class SortRequest:
    """The options of SORT."""

    descending: bool = False
    alpha: bool = False
    offset: int = 0
    count: int = -1  # negative: all
    by: bytes | None = None
    gets: list[bytes] = field(default_factory=list)
    target: bytes | None = None

    @property
    def sorts(self) -> bool:
        """True if the elements are sorted; BY without a `*` leaves them as they are."""
        return self.by is None or b"*" in self.by


def _parse(client: Client, argv: Request, *, may_store: bool) -> SortRequest:
    arguments, request = Arguments(argv, 2), SortRequest()
    while arguments:
        option = arguments.next_keyword()
        if option in (b"ASC", b"DESC"):
            request.descending = option == b"DESC"
        elif option == b"ALPHA":
            request.alpha = True
        elif option == b"LIMIT" and arguments.remaining >= 2:
            request.offset, request.count = arguments.next_int(), arguments.next_int()
        elif option == b"BY":
            request.by = arguments.next()
            if b"*" in request.by:
                _check_keys(client, argv, option, request.by)
        elif option == b"GET":
            request.gets.append(arguments.next())
            _check_keys(client, argv, option, request.gets[-1])
        elif option == b"STORE" and may_store:
            request.target = arguments.next()
        else:
            raise ReplyError(errors.SYNTAX)
    return request


def _check_keys(client: Client, argv: Request, option: bytes, pattern: bytes) -> None:
    """Raise ReplyError unless the user may read every key: which are read, the data decides.

    In a cluster, also unless all keys that the pattern can name are in the slot of the sorted one.
    """
    is_local = pattern == _ELEMENT or pattern_slot(pattern) == key_slot(argv[1])
    if client.instance.is_cluster and not is_local:
        raise errors.sort_option_in_cluster(option)
    if client.gates & GATE_RESTRICTED and not may_read_all_keys(client, argv.words()):
        raise errors.sort_option_denied(option)


def _sort(client: Client, key: bytes, request: SortRequest) -> bytes | LongReply:
    items = _in_order(client, _elements(client, key, request), request)
    start = min(max(request.offset, 0), len(items))
    chosen = items[start:] if request.count < 0 else items[start : start + request.count]
    gets = request.gets or [_ELEMENT]
    found: Sequence[bytes | None] = chosen
    if gets != [_ELEMENT]:
        found = [_get(client, pattern, item) for item in chosen for pattern in gets]
    if request.target is None:
        return _reply(found, client.resp)
    _store(client, request.target, [one or b"" for one in found])
    return replies.integer(len(found))


def _reply(found: Sequence[bytes | None], resp: int) -> bytes | LongReply:
    header, pieces = replies.array_header(len(found)), _pieces(found, resp)
    if len(found) > MANY_ITEMS:
        return LongReply(chain([header], pieces))
    return header + b"".join(pieces)


def _pieces(found: Sequence[bytes | None], resp: int) -> Iterator[bytes]:
    """The items of the reply, some at a time."""
    for start in range(0, len(found), ITEMS_PER_PIECE):
        some = found[start : start + ITEMS_PER_PIECE]
        yield b"".join([replies.bulk_or_nil(one, resp) for one in some])


def _elements(client: Client, key: bytes, request: SortRequest) -> list[bytes]:
    """The elements in their own order, which DESC reverses if they are not sorted, except for a
    set. Raises WRONGTYPE.
    """
    value = client.lookup(key)
    if value is None:
        return []
    turned = request.descending and not request.sorts
    if isinstance(value, ListValue):
        return list(value)[::-1] if turned else list(value)
    if isinstance(value, SortedSetValue):
        value.become_skiplist()  # as in Redis, whatever the options are
        members = list(map(member_of, value.records(0, len(value))))
        return members[::-1] if turned else members
    if isinstance(value, SetValue):
        if not request.sorts and request.target is not None:
            # The order must be the same on every server that the request is propagated to.
            request.by, request.alpha = None, True
        return value.members()
    raise ReplyError(errors.WRONG_TYPE)


def _in_order(client: Client, items: list[bytes], request: SortRequest) -> list[bytes]:
    if not request.sorts:
        return items
    is_reversed = request.descending
    if request.by is not None:
        weights = [_get(client, request.by, item) for item in items]
        by = _by_bytes if request.alpha else _by_number
        return by(weights, items, is_reversed=is_reversed)
    if request.alpha:
        return sorted(items, reverse=is_reversed)
    if all(map(_is_exact, items)):
        # Elements that are equal as numbers are equal as texts, too.
        return sorted(items, key=float, reverse=is_reversed)
    return _by_number(items, items, is_reversed=is_reversed)


def _by_bytes(
    weights: Sequence[bytes | None], items: list[bytes], *, is_reversed: bool
) -> list[bytes]:
    """Missing weights come first; equal ones keep their order (stable sort)."""
    missing = [item for weight, item in zip(weights, items, strict=True) if weight is None]
    pairs = zip(weights, items, strict=True)
    there = [(weight, item) for weight, item in pairs if weight is not None]
    there.sort(key=itemgetter(0), reverse=is_reversed)
    found = [item for _, item in there]
    return found + missing if is_reversed else missing + found


def _by_number(
    weights: Sequence[bytes | None], items: list[bytes], *, is_reversed: bool
) -> list[bytes]:
    """Sort by weights as numbers, equal ones by their elements."""
    numbered = list(zip(map(_number, weights), items, strict=True))
    numbered.sort(reverse=is_reversed)
    return [item for _, item in numbered]


def _number(weight: bytes | None) -> float:
    """A weight as a number; a missing one counts as 0."""
    number = parse_loose_double(weight or b"")
    if number is None:
        raise ReplyError(errors.SORT_NOT_A_DOUBLE)
    return number


def _is_exact(item: bytes) -> bool:
    """Return True for a whole number in plain form with few enough digits for a double."""
    return len(item) <= _EXACT_DIGITS and as_int64(item) is not None


def _get(client: Client, pattern: bytes, item: bytes) -> bytes | None:
    """The value of the key or field that the pattern names for an element; None without it."""
    if pattern == _ELEMENT:
        return item
    prefix, star, suffix = pattern.partition(b"*")
    if not star:
        return None
    end, arrow, name = suffix.partition(b"->")
    if not (arrow and name):
        value = client.lookup(prefix + item + suffix)
        return value.to_bytes() if isinstance(value, StringValue) else None
    owner = client.lookup(prefix + item + end)
    if not isinstance(owner, HashValue) or owner.is_expired(name, client.instance.now_ms):
        return None
    return owner.get(name)


def _store(client: Client, key: bytes, items: list[bytes]) -> None:
    """Store the result as a list at `key`; an empty result removes the key."""
    exists = client.lookup_for_write(key) is not None
    if items:
        limits, now_ms = client.instance.config, client.instance.now_ms
        client.store(key, ListValue.of(items, limits, now_ms))
        client.db.persist(key)
        client.modified(key, len(items))
        client.notify(notifications.LIST, b"sortstore", key)
    elif exists:
        client.remove(key)
        client.modified(key)
        client.notify(notifications.GENERIC, b"del", key)
