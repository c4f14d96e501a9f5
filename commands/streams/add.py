"""XADD (Redis 7.4; options: Redis 8.2, Redis 8.6).

The usual form, `XADD key [MAXLEN [=|~] n] <* | id> field value ...` on an existing stream, stores
the bytes of the fields unparsed (`_add_unparsed`). Every other form goes through `AddOptions`. IDs
never go backwards, even if the clock does. The entry is appended before the stream is trimmed. A
producer may give an entry an idempotent ID (IDMP); a duplicate is not added, and the reply is the
ID of the first one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import cython

from commands.core import notifications
from commands.core.client import Client
from commands.core.registry import DENYOOM, FAST, WRITE, command, one_key, propagate_carried
from commands.core.services import Services
from commands.streams.delete import POLICIES
from commands.streams.idempotence import Idempotency, new_stream, parse_idempotency, remember
from commands.streams.ids import id_bulk
from commands.streams.trim import Trim, TrimOptions
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.request import Request
from protocol.requests import Argv
from storage.append_only.request_writer import RequestWriter
from storage.entries.entry import encode_fields
from storage.entries.entry_id import (
    MAX_ID,
    MAX_SEQ,
    MIN_ID,
    SEQ_BITS,
    EntryID,
    PlainID,
    format_id,
    make_id,
    parse_partial_id,
)
from storage.groups.group import References
from storage.stream import Stream

if TYPE_CHECKING:
    from commands.core.instance import Instance
    from storage.keyspace.database import Database

_MAXLEN = (b"MAXLEN", b"maxlen")
_EXACT_OR_ABOUT = (b"=", b"~")
# The options of an exact cap, up to its threshold, as bulk strings.
_EXACT_CAP = encode_fields([b"MAXLEN", b"="])

# The caps that are known by their bytes, at most.
MAX_CAPS = 256

# Redis refuses an entry whose fields and values are longer than this together.
MAX_ENTRY_BYTES = 1 << 30


_STAR: cython.int = ord("*")
_EQUALS: cython.int = ord("=")
_TILDE: cython.int = ord("~")

# Reads the ID of each request.
_PLAIN_ID = PlainID()


@record
class AddOptions:
    """The options between the key and the fields."""

    id_position: int  # in argv
    ms: int | None  # None: `*`
    seq: int | None  # None: `*` or `<ms>-*`
    no_mkstream: bool
    trim: Trim | None
    idempotency: Idempotency | None


@cython.cfunc
def _add_unparsed(client: Client, request: Request) -> bytes | None:
    """`xadd` of the fields as they came; None, and nothing is done, if the form is another."""
    id_position: cython.Py_ssize_t = 2
    trim: Trim | None = None
    if request.is_word(2, b"MAXLEN") or request.is_word(2, b"maxlen"):
        id_position = 5 if request.is_byte(3, _EQUALS) or request.is_byte(3, _TILDE) else 4
        trim = _known_cap(client, request, id_position)
        if trim is None:
            return None
    instance: Instance = client.instance
    db: Database = client.db
    words: cython.Py_ssize_t = request.count - id_position - 1
    key = request.word(1)
    value = db.values.get(key)
    if words < 2 or words & 1 or type(value) is not Stream or (db.expires and key in db.expires):
        return None
    stream: Stream = value
    fields = request.tail(id_position + 1)
    if len(fields) > MAX_ENTRY_BYTES:
        return None
    limits_entries: cython.longlong = instance.node_max_entries
    limits_bytes: cython.longlong = instance.node_max_bytes
    if request.is_byte(id_position, _STAR):
        if stream.is_exhausted():
            return None
        now_ms: cython.ulonglong = instance.now_ms
        reply = stream.append_now(now_ms, fields, words, limits_entries, limits_bytes)
    else:
        plain: PlainID = _PLAIN_ID
        if not plain.read(request.word(id_position)) or not stream.can_append(plain.ms, plain.seq):
            return None
        reply = stream.append_raw(plain.ms, plain.seq, fields, words, limits_entries, limits_bytes)
    if not stream.has_changed:  # saves a call
        db.memory.note(stream)
    if not client.no_touch:
        if instance.counts_accesses:
            instance.touch(stream)
        else:  # saves a call
            stream.access_ms = instance.now_ms
    instance.dirty += 1
    if instance.is_observed:
        client.modified(key, 0)
        client.notify(notifications.STREAM, b"xadd", key)
    if instance.ready_keys.awaited:
        client.signal_key_as_ready(key)
    if (
        trim is not None
        and stream.exceeds(trim.threshold, trim.approximate)
        and trim.apply(stream, client)
    ):
        client.notify(notifications.STREAM, b"xtrim", key)
    if instance.propagation.sinks:
        _propagate_unparsed(client, request, id_position, stream, trim, reply, fields)
    request.mark_quick(len(fields))
    return reply


@cython.cfunc
def _propagate_unparsed(
    client: Client,
    request: Request,
    id_position: cython.Py_ssize_t,
    stream: Stream,
    trim: Trim | None,
    reply: bytes,
    fields: bytes,
) -> None:
    """Propagate the request with the chosen ID and the exact result of its trim."""
    if trim is not None and not trim.approximate and stream.length > trim.threshold:
        words = list(request.words())  # damage has stopped the trim
        words[id_position] = reply.split(b"\r\n")[1]
        client.propagate(*trim.exact_form(words, stream))
        return
    if trim is not None and trim.approximate:
        head = request.head(2) + _EXACT_CAP + replies.bulk(b"%d" % stream.length)
    else:
        head = request.head(id_position)
    writer: RequestWriter = client.begin_propagated()
    writer.encoded(head)
    writer.encoded(reply)
    writer.encoded(fields)


@cython.cclass
class KnownCaps:
    """The caps of requests, by their bytes. They depend on stream-node-max-entries."""

    def __init__(self) -> None:
        self.reset(0)

    def reset(self, node_max_entries: int) -> None:
        """Forget them: the directive has changed."""
        self.node_max_entries = node_max_entries
        self.trims: dict[bytes, Trim | None] = {}


_known_caps: KnownCaps = KnownCaps()


@cython.cfunc
def _known_cap(client: Client, request: Request, id_position: cython.Py_ssize_t) -> Trim | None:
    """The trim of a request that begins with MAXLEN.

    None if there are other options, or if clients wait.
    """
    instance: Instance = client.instance
    # A trim may remove entries that blocked readers have not received yet.
    if request.count <= id_position or instance.ready_keys.awaited:
        return None
    text = request.part(2, id_position)
    if instance.node_max_entries != _known_caps.node_max_entries:
        _known_caps.reset(instance.node_max_entries)
    trim: Trim | None = _known_caps.trims.get(text)
    if trim is None:
        words = [request.word(index) for index in range(2, id_position)]
        try:
            trim = _parse_cap((*words, b"*"), instance.node_max_entries).trim
        except ReplyError:
            return None
        if len(_known_caps.trims) >= MAX_CAPS:
            _known_caps.trims.clear()
        _known_caps.trims[text] = trim
    # The general path knows that a trim that is replayed has no limit.
    return None if client.replays and trim is not None and trim.approximate else trim


@command(
    "XADD",
    arity=-5,
    flags=WRITE | DENYOOM | FAST,
    keys=one_key(b"RW", b"UPDATE"),
    defers_ready_keys=True,
)
def xadd(client: Client, request: Request) -> bytes:
    """Bulk string: the new entry's ID; null if NOMKSTREAM kept the stream from being created.

    Source: Redis 8.6.
    """
    reply = _add_unparsed(client, request)
    if reply is not None:  # 0.40 us a request instead of 2.20
        return reply
    argv = request.words()
    if argv[2] != b"*":
        return _add_with_options(client, argv)
    if not len(argv) & 1:
        raise errors.wrong_arity(b"xadd")
    key, fields = argv[1], argv[3:]
    stream: Stream | None = client.lookup_stream_for_write(key)
    entry_id = automatic_id(stream, client.instance.now_ms)
    reply = append_entry(client, key, stream, entry_id, fields)
    if client.instance.propagation.sinks:
        client.propagate(argv[0], key, format_id(entry_id), *fields)
    return reply


def _add_with_options(client: Client, argv: Argv) -> bytes:
    options = parse_options(client, argv)
    key, fields = argv[1], argv[options.id_position + 1 :]
    stream: Stream | None = client.lookup_stream_for_write(key)
    if stream is None and options.no_mkstream:
        return replies.NIL[client.resp]
    idempotency = options.idempotency
    if idempotency is not None and options.ms is None:
        known = idempotency.find(stream)
        if known is not None:
            client.changed()  # a copy counts duplicates as well
            propagate_carried(client, *argv)
            return id_bulk(known)
        if client.replays:  # a duplicate at its source, if no longer known here: still no entry
            return replies.NIL[client.resp]
    entry_id = _choose_id(stream, options, client.instance.now_ms)
    trim, ready_keys = options.trim, client.instance.ready_keys.signalled
    if stream is not None and trim is not None and ready_keys and trim.may_remove(stream):
        serve_waiters_first(client, key)
    reply = append_entry(client, key, stream, entry_id, fields)
    longer = client.db.values[key]
    assert isinstance(longer, Stream)
    if idempotency is not None:
        remember(client, longer, idempotency.pid, idempotency.iid, entry_id)
    if trim is not None and trim.apply(longer, client):
        client.notify(notifications.STREAM, b"xtrim", key)
    if client.instance.propagation.sinks:
        _propagate_with_options(client, argv, options, entry_id, longer)
    return reply


def _propagate_with_options(
    client: Client, argv: Argv, options: AddOptions, entry_id: EntryID, stream: Stream
) -> None:
    """Propagate the entry in words that Redis 7.0 knows; what it has no words for, in a carrier."""
    key, fields, trim = argv[1], argv[options.id_position + 1 :], options.trim
    text = format_id(entry_id)
    given = options.idempotency
    if given is None and POLICIES.keys().isdisjoint(
        map(bytes.upper, argv[2 : options.id_position])
    ):
        request = list(argv)
        request[options.id_position] = text
        client.propagate(*(request if trim is None else trim.exact_form(request, stream)))
        return
    # An entry that its own trim removes is there until its ID is recorded.
    trims_with = trim is not None and trim.references is References.KEEP and entry_id in stream
    words = trim.words(stream) if trim is not None and trims_with else []
    client.propagate(argv[0], key, *words, text, *fields)
    if given is not None:
        propagate_carried(client, b"XIDMPRECORD", key, given.pid, given.iid, text)
    if trim is not None and not trims_with:
        trim.propagate(client, key, stream)


def append_entry(
    client: Client, key: bytes, stream: Stream | None, entry_id: EntryID, fields: list[bytes]
) -> bytes:
    """Append an entry, to a new stream if there is none; notify, wake readers and fail WATCHes.

    Returns the ID as a reply. Raises ReplyError, in which case nothing has changed.
    """
    instance = client.instance
    config = instance.config
    if may_be_too_large(client) and sum(map(len, fields)) > MAX_ENTRY_BYTES:
        raise ReplyError(errors.XADD_TOO_LARGE)
    if stream is None:
        stream = new_stream(config)
        client.store(key, stream)
    reply = stream.append(
        entry_id, fields, config.stream_node_max_entries, config.stream_node_max_bytes
    )
    client.modified(key)
    # Usually no client listens or waits: a check first is faster than the calls.
    if config.notify_keyspace_events:
        client.notify(notifications.STREAM, b"xadd", key)
    if instance.ready_keys.awaited:
        client.signal_key_as_ready(key)
    return reply


def may_be_too_large(client: Client) -> bool:
    """Return True if entries must be measured: a client's cannot exceed its query buffer."""
    limit_bytes = client.instance.config.client_query_buffer_limit
    return client.replays or limit_bytes > MAX_ENTRY_BYTES


def serve_waiters_first(client: Client, key: bytes) -> None:
    """Serve blocked readers before a trim removes entries that they wait for.

    XADD does not serve them otherwise before it runs, so that several XADDs of one cycle reach a
    reader as one reply. Redis serves them after every command, but not within a transaction.
    """
    watched = (client.db.index, key)
    if watched in client.instance.ready_keys.signalled and not client.deny_blocking:
        client.instance.feature(Services).dispatcher.serve_ready_keys()


# -- the ID ------------------------------------------------------------------------------------


@cython.ccall
def automatic_id(stream: Stream | None, now_ms: cython.longlong) -> EntryID:
    """The ID for `*`: the current time, or the last ID plus one if that is not greater."""
    entry_id = make_id(now_ms, 0)
    if stream is not None and entry_id <= stream.last_id:
        if stream.last_id == MAX_ID:
            raise ReplyError(errors.XADD_EXHAUSTED)
        entry_id = stream.last_id + 1
    return entry_id


def _choose_id(stream: Stream | None, options: AddOptions, now_ms: int) -> EntryID:
    """The new entry's ID. Raises ReplyError if it is not above the last one."""
    if options.ms is None:
        return automatic_id(stream, now_ms)
    last_id = MIN_ID if stream is None else stream.last_id
    if last_id == MAX_ID:
        raise ReplyError(errors.XADD_EXHAUSTED)
    if options.seq is not None:
        entry_id = make_id(options.ms, options.seq)
    elif options.ms == last_id >> SEQ_BITS and last_id & MAX_SEQ < MAX_SEQ:
        entry_id = last_id + 1
    else:
        # Where the millisecond has no sequence number left, this is below the last ID.
        entry_id = make_id(options.ms, 0)
    if entry_id <= last_id:
        raise ReplyError(errors.XADD_ID_SMALL)
    return entry_id


# -- the options -------------------------------------------------------------------------------


def parse_options(client: Client, argv: Argv) -> AddOptions:
    """Parse the options between the key and the fields. The result is shared: do not modify it.

    Raises ReplyError.
    """
    node_max_entries = client.instance.config.stream_node_max_entries
    if argv[2] in _MAXLEN and not client.replays:
        # Without `=` or `~` before the threshold, an option may follow whose argument is `*`.
        id_position = 5 if argv[3] in _EXACT_OR_ABOUT else 4
        fields = len(argv) - id_position - 1
        if fields >= 2 and not fields & 1 and argv[id_position] == b"*":
            return _parse_cap(tuple(argv[2 : id_position + 1]), node_max_entries)
    return _parse(argv, node_max_entries, is_replay=client.replays)


@lru_cache(maxsize=256)
def _parse_cap(words: tuple[bytes, ...], node_max_entries: int) -> AddOptions:
    """Parse a trimming cap up to the `*`; cached, because a producer sends the same one again."""
    argv = [b"XADD", b"key", *words, b"field", b"value"]
    return _parse(argv, node_max_entries, is_replay=False)


def _parse(argv: Argv, node_max_entries: int, *, is_replay: bool) -> AddOptions:
    """Parse options in any order, up to `*` or the first word that is no option: the ID."""
    trim_options = TrimOptions()
    no_mkstream = False
    idempotency: Idempotency | None = None
    ms: int | None = None
    seq: int | None = None
    position = 2
    while position < len(argv) and argv[position] != b"*":
        behind = trim_options.take(argv, position)
        if behind > position:
            position = behind
        elif argv[position].upper() == b"NOMKSTREAM":
            no_mkstream = True
            position += 1
        elif (given := parse_idempotency(argv, position)) is not None:
            if idempotency is not None:
                raise ReplyError(errors.IDMP_TWICE)
            idempotency = given
            position += given.words
        else:
            ms, seq = _parse_id(argv[position])
            break
    if idempotency is not None and ms is not None and not is_replay:
        raise ReplyError(errors.IDMP_WITH_ID)
    trim = trim_options.finish(node_max_entries, required=False, is_replay=is_replay)
    field_words = len(argv) - position - 1
    if field_words < 2 or field_words % 2:
        raise errors.wrong_arity(b"xadd")
    if ms == 0 and seq == 0:
        raise ReplyError(errors.XADD_ID_ZERO)
    if idempotency is not None:
        idempotency.complete(argv[position + 1 :])
    return AddOptions(position, ms, seq, no_mkstream, trim, idempotency)


def _parse_id(text: bytes) -> tuple[int, int | None]:
    parts = parse_partial_id(text)
    if parts is None:
        raise ReplyError(errors.INVALID_STREAM_ID)
    return parts
