"""The operations of a client of a stream in partitions, without I/O: requests out, replies in.

An operation is a generator. It yields a list of requests, is sent their replies, and returns its
result; sync.py and asyncio.py carry it out. It may also yield a number: seconds to wait. An error
on the way is thrown into it, so that a span ends with it.

The methods of the public classes are made of these operations: signature and docstring are theirs.

Replies are as redis-py's callbacks make them, of RESP2 or RESP3, decoded or not: the user gets IDs
and fields as the client returns them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypedDict, TypeVar, Unpack

import redis

from rillway.client.partitions import Partitions

if TYPE_CHECKING:
    from rillway.client.tracing import Tracing

Key: TypeAlias = str | bytes
Fields: TypeAlias = Mapping[Any, Any]
Request: TypeAlias = tuple[Any, ...]
T = TypeVar("T")
Operation: TypeAlias = Generator[list[Request] | float, list[Any], T]

# The number of entries that are sent or read at once.
PAGE = 1000
# A read that finds nothing repeats after a pause, which grows while nothing comes.
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.001, 0.02


class Entry(NamedTuple):
    """An entry of a partition: its ID and fields are text or bytes, as the client decodes."""

    partition: int
    id: Any
    fields: dict[Any, Any]


class AddOptions(TypedDict, total=False):
    """Options of XADD, named as redis-py names them."""

    id: str  #: instead of `*`
    nomkstream: bool  #: add nothing if the partition does not exist; the ID is None then
    maxlen: int  #: trim the partition to this length
    minid: str  #: drop what is older than this ID from the partition
    approximate: bool  #: trim whole nodes only (default)
    limit: int  #: of entries to trim
    idmp: tuple[str, Key]  #: producer, and a name: XADD of a name that it has added adds nothing
    idmpauto: str  #: producer; the name is made of the fields


# -- a stream -------------------------------------------------------------------------------------


class StreamOperations:
    """The operations of a client of a stream in partitions."""

    def __init__(self, stream: Partitions, client: Any, tracing: Tracing | None) -> None:
        self.stream = stream
        self._client = client
        self._tracing = tracing

    def add(self, key: Key, fields: Fields, **options: Unpack[AddOptions]) -> Operation[Any]:
        """Adds an entry to the partition of its key, by XADD; returns its ID.

        Raises ValueError if there are no fields, or if the field of the key holds another key.
        """
        if self._tracing is None:
            replies = yield [xadd(self.stream, key, fields, options)]
            return checked(replies)[0]
        with self._tracing.adding(self._client, self.stream.partition(key)) as span:
            replies = yield [xadd(self.stream, key, span.fields(fields), options)]
            entry_id = checked(replies)[0]
            span.is_added(entry_id)
            return entry_id

    def add_many(
        self,
        entries: Iterable[tuple[Key, Fields]],
        *,
        create_spans: bool = False,
        **options: Unpack[AddOptions],
    ) -> Operation[list[Any]]:
        """Adds entries, as (key, fields), in pipelines of a thousand; returns their IDs.

        Entries of one key keep their order. `create_spans`: with `trace`, each entry also has a
        span of its own.
        """
        if self._tracing is None:
            return (yield from self._add_many(entries, options))
        with self._tracing.adding_many(self._client, create_spans=create_spans) as span:
            traced = ((key, span.fields(fields)) for key, fields in entries)
            ids = yield from self._add_many(traced, options)
            span.are_added(len(ids))
            return ids

    def _add_many(
        self, entries: Iterable[tuple[Key, Fields]], options: AddOptions
    ) -> Operation[list[Any]]:
        ids: list[Any] = []
        for page in pages(entries):
            replies = yield [xadd(self.stream, key, fields, options) for key, fields in page]
            ids += checked(replies)
        return ids

    def length(self) -> Operation[int]:
        """Returns the number of entries in all partitions."""
        replies = yield [("XLEN", name) for name in self.stream.streams]
        return sum(checked(replies))

    def history(
        self, key: Key, start: str = "-", end: str = "+", count: int | None = None
    ) -> Operation[list[Entry]]:
        """Returns the entries of a key in order, up to `count`, between two IDs as in XRANGE.

        Without a `key_field`, all entries of the key's partition.
        """
        partition = self.stream.partition(key)
        found: list[Entry] = []
        while True:
            name = self.stream.stream(partition)
            replies = yield [("XRANGE", name, start, end, "COUNT", PAGE)]
            (page,) = checked(replies)
            entries = [Entry(partition, entry_id, fields) for entry_id, fields in page]
            found += [entry for entry in entries if has_key(self.stream, key, entry)]
            if len(page) < PAGE or (count is not None and len(found) >= count):
                return found[:count]
            start = f"({as_bytes(page[-1][0]).decode()}"


def xadd(stream: Partitions, key: Key, fields: Fields, options: AddOptions) -> Request:
    """Return the words of XADD. Raises ValueError like `with_key`."""
    words: list[Any] = ["XADD", stream.stream(stream.partition(key))]
    if options.get("nomkstream"):
        words.append("NOMKSTREAM")
    if "idmp" in options:
        words += ["IDMP", *options["idmp"]]
    if "idmpauto" in options:
        words += ["IDMPAUTO", options["idmpauto"]]
    for option in ("maxlen", "minid"):
        if option in options:
            sign = "~" if options.get("approximate", True) else "="
            words += [option.upper(), sign, options[option]]
    if "limit" in options:
        words += ["LIMIT", options["limit"]]
    words.append(options.get("id", "*"))
    for pair in with_key(stream, key, fields).items():
        words += pair
    return tuple(words)


def with_key(stream: Partitions, key: Key, fields: Fields) -> dict[Any, Any]:
    """Return the fields, with the field of the key first if the stream has one.

    Raises ValueError if there are no fields, or if the field of the key holds another key.
    """
    if not fields:
        raise ValueError("an entry has at least one field")
    if stream.key_field is None:
        return dict(fields)
    if as_bytes(fields.get(stream.key_field, key)) != as_bytes(key):
        raise ValueError(f"the field {stream.key_field!r} is not the entry's key {key!r}")
    return {stream.key_field: key, **fields}


def has_key(stream: Partitions, key: Key, entry: Entry) -> bool:
    if stream.key_field is None:
        return True
    name = stream.key_field
    value = entry.fields.get(name, entry.fields.get(name.encode()))
    return value is not None and as_bytes(value) == as_bytes(key)


# -- groups ---------------------------------------------------------------------------------------


class GroupOperations:
    """The operations of one consumer of a group."""

    def __init__(self, stream: Partitions, group: str, consumer: str) -> None:
        self.stream = stream
        self.group = group
        self.consumer = consumer

    def create(self, start: str = "0") -> Operation[int]:
        """Creates the group in partitions that lack it; returns their number."""
        replies = yield [
            ("XGROUP", "CREATE", name, self.group, start, "MKSTREAM")
            for name in self.stream.streams
        ]
        made = [reply for reply in replies if not str(reply).startswith("BUSYGROUP")]
        return len(checked(made))

    def read(self, count: int = 10, block_ms: int | None = None) -> Operation[list[Entry]]:
        """Reads new entries, up to `count` of each partition, in the order of each.

        `block_ms`: how long to wait for some, 0 for ever; None: do not wait.
        """
        pause, left = FIRST_PAUSE_SECONDS, (block_ms or 0) / 1000
        while True:
            places = dict.fromkeys(range(self.stream.partitions), ">")
            entries = yield from self._read(places, count)
            if entries or block_ms is None or (block_ms and left <= 0):
                return entries
            seconds = min(pause, left) if block_ms else pause
            yield seconds
            left -= seconds
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)

    def read_backlog(self, after: dict[int, str], count: int) -> Operation[list[Entry]]:
        """Reads the next entries that are pending for this consumer.

        `after`: the last ID that was read of each partition; partitions that have no more entries
        are dropped.
        """
        entries = yield from self._read(after, count)
        for partition in list(after):
            ids = [entry.id for entry in entries if entry.partition == partition]
            if ids:
                after[partition] = as_bytes(ids[-1]).decode()
            else:
                del after[partition]
        return [entry for entry in entries if entry.fields]  # the others were deleted

    def _read(self, places: Mapping[int, str], count: int) -> Operation[list[Entry]]:
        words = ("XREADGROUP", "GROUP", self.group, self.consumer, "COUNT", count, "STREAMS")
        replies = yield [
            (*words, self.stream.stream(partition), after) for partition, after in places.items()
        ]
        return [
            Entry(partition, entry_id, fields)
            for partition, reply in zip(places, checked(replies), strict=True)
            for entry_id, fields in read_entries(reply)
        ]

    def ack(self, *entries: Entry) -> Operation[int]:
        """Acknowledges entries; returns how many were pending."""
        ids: dict[int, list[Any]] = {}
        for entry in entries:
            ids.setdefault(entry.partition, []).append(entry.id)
        if not ids:
            return 0
        replies = yield [
            ("XACK", self.stream.stream(partition), self.group, *some)
            for partition, some in ids.items()
        ]
        return sum(checked(replies))

    def claim(self, min_idle_ms: int, count: int = 10) -> Operation[list[Entry]]:
        """Takes over entries, of any consumer, idle that long; up to `count` of each partition."""
        words = (self.group, self.consumer, min_idle_ms, "0-0", "COUNT", count)
        replies = yield [("XAUTOCLAIM", name, *words) for name in self.stream.streams]
        return [
            Entry(partition, entry_id, fields)
            for partition, reply in enumerate(checked(replies))
            for entry_id, fields in reply[1]
            if entry_id is not None  # deleted, by Redis 6.2
        ]

    def pending(self) -> Operation[int]:
        """Returns the number of entries delivered and not acknowledged, of all consumers."""
        replies = yield [("XPENDING", name, self.group) for name in self.stream.streams]
        return sum(int(reply["pending"]) for reply in checked(replies))


# -- requests and replies -------------------------------------------------------------------------


def checked(replies: Sequence[T]) -> Sequence[T]:
    """The replies, none of which is an error. Raises the first one that is."""
    for reply in replies:
        if isinstance(reply, Exception):
            raise reply
    return replies


def is_interruption(reply: Any) -> bool:
    """Return True if an error is not a server's reply, but a lost connection."""
    return isinstance(reply, Exception) and not isinstance(reply, redis.ResponseError)


def read_entries(reply: Any) -> Iterator[tuple[Any, dict[Any, Any]]]:
    """Yield the entries in redis-py's reply to XREADGROUP for one stream.

    RESP2: [[name, entries]]; RESP3: {name: [entries]}, or {name: entries}.
    """
    if not reply:
        return
    entries = next(iter(reply.values())) if isinstance(reply, dict) else reply[0][1]
    if entries and isinstance(entries[0], list) and not is_entry(entries[0]):
        (entries,) = entries
    for entry_id, fields in entries:
        yield entry_id, fields or {}


def is_entry(value: Sequence[Any]) -> bool:
    return len(value) == 2 and isinstance(value[0], str | bytes)


def pages(entries: Iterable[T]) -> Iterator[list[T]]:
    page: list[T] = []
    for entry in entries:
        page.append(entry)
        if len(page) == PAGE:
            yield page
            page = []
    if page:
        yield page


def as_bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


# -- methods --------------------------------------------------------------------------------------


def described(call: Any, work: Callable[..., Any]) -> Any:
    """Give a method the docstring and, after self, the parameters of the function for its work."""
    signature = inspect.signature(work)
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [one for one in signature.parameters.values() if one.name != "self"]
    call.__signature__ = signature.replace(
        parameters=[own, *parameters], return_annotation=own.empty
    )
    call.__doc__ = work.__doc__
    return call
