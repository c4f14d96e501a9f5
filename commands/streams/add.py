"""XADD (Redis 7.4; options: Redis 8.2, Redis 8.6).

    XADD key [NOMKSTREAM] [KEEPREF | DELREF | ACKED] [IDMPAUTO pid | IDMP pid iid]
      [<MAXLEN | MINID> [= | ~] threshold [LIMIT count] | DELAY ms | AT unix-ms] <* | id>
      field value [field value ...]

The fields are stored as the bytes that arrived. The ID and a cap that was seen before are read from
the bytes as well, other options from the words. IDs never go backwards, even if the clock does. The
entry is appended before the stream is trimmed. A producer may give an entry an idempotent ID
(IDMP); a duplicate is not added, and the reply is the ID of the first one. DELAY and AT are
Rillway's own (policies/schedule.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython

from commands.core import notifications
from commands.core.client import Client
from commands.core.registry import DENYOOM, FAST, WRITE, command, one_key, propagate_carried
from commands.streams.delete import POLICIES
from commands.streams.idempotence import Idempotency, new_stream, parse_idempotency, remember
from commands.streams.ids import id_bulk, parse_strict
from commands.streams.policies.retention import appended
from commands.streams.policies.schedule import Later, add_later, parse_later
from commands.streams.trim import Trim, TrimOptions, serve_waiters_first
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.replies import NIL
from protocol.request import Request
from protocol.requests import Argv
from storage.append_only.request_writer import RequestWriter
from storage.entries.entry import encode_fields
from storage.entries.entry_id import (
    MAX_ID,
    MAX_SEQ,
    MIN_ID,
    EntryID,
    PlainID,
    id_ms,
    id_seq,
    make_id,
    parse_partial_id,
)
from storage.groups.group import References
from storage.stream import Stream

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from commands.core.client import opened, written

if TYPE_CHECKING:
    from commands.core.instance import Instance

# The options of an exact cap, up to its threshold, as bulk strings.
_EXACT_CAP = encode_fields([b"MAXLEN", b"="])

# The caps that are known by their bytes, at most.
MAX_CAPS = 256

# Redis refuses an entry whose fields and values are longer than this together.
MAX_ENTRY_BYTES = 1 << 30


_STAR: cython.int = ord("*")
_EQUALS: cython.int = ord("=")
_TILDE: cython.int = ord("~")
_EVENTS: cython.long = notifications.STREAM
# MAX_ID, MIN_ID and MAX_SEQ, as numbers of C.
_LAST_ID = MAX_ID
_NO_ID = MIN_ID
_GREATEST_SEQ = MAX_SEQ

# The ID of the request that is executed.
_PLAIN_ID = PlainID()


@cython.cclass
class AddOptions:
    """The options between the key and the ID. Requests that are alike share one."""

    __slots__ = (
        "id_position", "idempotency", "is_approximate", "is_carried", "later", "max_length",
        "no_mkstream", "trim",
    )  # fmt: skip

    def __init__(self, id_position: int) -> None:
        self.id_position = id_position  # in argv
        self.no_mkstream = False
        self.trim: Trim | None = None
        # Of a MAXLEN without DELREF and ACKED, which most caps are; or else -1.
        self.max_length = -1
        self.is_approximate = False
        self.idempotency: Idempotency | None = None
        self.later: Later | None = None
        self.is_carried = False  # Redis 7.0 does not know all of the options

    def add_trim(self, trim: Trim) -> None:
        self.trim = trim
        if trim.by_length and trim.references is References.KEEP:
            self.max_length, self.is_approximate = trim.threshold, trim.approximate


_NO_OPTIONS = AddOptions(2)


@cython.cclass
class KnownCaps:
    """The caps of requests, by their bytes. They depend on stream-node-max-entries."""

    def __init__(self) -> None:
        self.reset(0)

    def reset(self, node_max_entries: int) -> None:
        """Forget them: the directive has changed."""
        self.node_max_entries = node_max_entries
        self.options: dict[bytes, AddOptions] = {}


_known_caps: KnownCaps = KnownCaps()


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
    given: PlainID = _PLAIN_ID
    is_read: cython.bint = False  # the ID, into `given`
    options: AddOptions = _NO_OPTIONS
    if request.is_byte(2, _STAR):
        pass
    elif request.is_word(2, b"MAXLEN") or request.is_word(2, b"maxlen"):
        options = _capped(client, request)
    else:
        is_read = given.read(request.word(2))
        if not is_read:
            options = _parse(client, request.words())
            later = options.later
            if later is not None:
                return _schedule(client, request, options, later.due_ms(client))
    position: cython.Py_ssize_t = options.id_position
    words: cython.Py_ssize_t = request.count - position - 1
    is_automatic: cython.bint = request.is_byte(position, _STAR)
    has_seq: cython.bint = True
    if not is_automatic and not is_read and not given.read(request.word(position)):
        has_seq = _read_id(request.word(position))
    if words < 2 or words & 1:
        raise errors.wrong_arity(b"xadd")
    if not is_automatic and has_seq and given.ms == 0 and given.seq == 0:
        raise ReplyError(errors.XADD_ID_ZERO)
    return _add(client, request, options, words, is_automatic, has_seq)


def _add(
    client: Client,
    request: Request,
    options: AddOptions,
    words: cython.Py_ssize_t,
    is_automatic: cython.bint,
    has_seq: cython.bint,
) -> bytes:
    """The reply to a parsed request of `words` field words, whose ID is in `_PLAIN_ID`."""
    key = request.word(1)
    value = opened(client, key)
    if value is not None and type(value) is not Stream:
        raise ReplyError(errors.WRONG_TYPE)
    stream: Stream | None = value
    if stream is None and options.no_mkstream:
        return NIL[client.resp]
    if options.idempotency is not None and is_automatic:
        known = _duplicate(client, request, options.idempotency, stream)
        if known is not None:
            return known
    instance: Instance = client.instance
    last_id = _NO_ID if stream is None else stream.last_id
    if is_automatic:
        entry_id = automatic_id(last_id, instance.now_ms)
    else:
        entry_id = _given_id(last_id, has_seq)
    fields = request.tail(options.id_position + 1)
    if len(fields) > MAX_ENTRY_BYTES:
        _refuse_too_large(request.words()[options.id_position + 1 :])
    trim: Trim | None = options.trim
    if stream is None:
        stream = created_stream(client, key)
    elif trim is not None and instance.ready_keys.signalled and trim.may_remove(stream):
        serve_waiters_first(client, key)
    reply = append_entry(client, key, stream, entry_id, fields, words)
    if options.idempotency is not None:
        remember(client, stream, options.idempotency.pid, options.idempotency.iid, entry_id)
    if (
        trim is not None
        and (options.max_length < 0 or stream.exceeds(options.max_length, options.is_approximate))
        and trim.apply(stream, client)
    ):
        client.notify(_EVENTS, b"xtrim", key)
    if instance.propagation.sinks:
        _propagate(client, request, options, stream, reply, fields)
    return reply


def _schedule(client: Client, request: Request, options: AddOptions, due_ms: int) -> bytes:
    """The reply to a parsed request with DELAY or AT."""
    key = request.word(1)
    stream: Stream | None = client.lookup_stream_for_write(key)
    if stream is None and options.no_mkstream:
        return NIL[client.resp]
    if options.idempotency is not None:
        known = _duplicate(client, request, options.idempotency, stream)
        if known is not None:
            return known
    position = options.id_position + 1
    fields, words = request.tail(position), request.count - position
    if len(fields) > MAX_ENTRY_BYTES:
        _refuse_too_large(request.words()[position:])
    return add_later(client, key, stream, due_ms, fields, words, options.idempotency)


def _refuse_too_large(fields: list[bytes]) -> None:
    """Raise ReplyError for fields that are too large: a client's never exceed its query buffer."""
    if sum(map(len, fields)) > MAX_ENTRY_BYTES:
        raise ReplyError(errors.XADD_TOO_LARGE)


def _duplicate(
    client: Client, request: Request, idempotency: Idempotency, stream: Stream | None
) -> bytes | None:
    """The reply, if the producer has sent the entry before."""
    known = idempotency.find(stream)
    if known is not None:
        client.changed()  # a copy counts duplicates as well
        propagate_carried(client, *request)
        return id_bulk(known)
    # A duplicate at its source, if no longer known here: still no entry.
    return NIL[client.resp] if client.replays else None


def _propagate(
    client: Client,
    request: Request,
    options: AddOptions,
    stream: Stream,
    reply: bytes,
    fields: bytes,
) -> None:
    """Propagate the request with the chosen ID and the exact result of its trim."""
    trim: Trim | None = options.trim
    if options.is_carried:
        _propagate_carried(client, request, options, stream, reply.split(b"\r\n")[1])
        return
    position: cython.Py_ssize_t = options.id_position
    if trim is None or (not options.is_approximate and stream.length <= options.max_length):
        head = request.head(position)
    elif options.is_approximate and position == 5:
        head = request.head(2) + _EXACT_CAP + replies.bulk(b"%d" % stream.length)
    else:
        words = trim.exact_form(request.words()[:position], stream)
        head = b"*%d\r\n%b" % (len(words) + request.count - position, replies.bulks(words))
    writer: RequestWriter = client.begin_propagated()
    writer.encoded(head)
    writer.encoded(reply)
    writer.encoded(fields)


def _propagate_carried(
    client: Client, request: Request, options: AddOptions, stream: Stream, text: bytes
) -> None:
    """Propagate the entry in words that Redis 7.0 knows; what it has no words for, in a carrier."""
    argv = request.words()
    key, fields, trim = argv[1], argv[options.id_position + 1 :], options.trim
    given = options.idempotency
    # An entry that its own trim removes is there until its ID is recorded.
    trims_with = (
        trim is not None and trim.references is References.KEEP and parse_strict(text) in stream
    )
    words = trim.words(stream) if trim is not None and trims_with else []
    client.propagate(argv[0], key, *words, text, *fields)
    if given is not None:
        propagate_carried(client, b"XIDMPRECORD", key, given.pid, given.iid, text)
    if trim is not None and not trims_with:
        trim.propagate(client, key, stream)


def created_stream(client: Client, key: bytes) -> Stream:
    """A new stream at `key`."""
    stream = new_stream(client.instance.config)
    client.store(key, stream)
    return stream


def append_entry(
    client: Client,
    key: bytes,
    stream: Stream,
    entry_id: EntryID,
    fields: bytes,
    words: cython.Py_ssize_t,
) -> bytes:
    """Append an entry of `words` encoded fields; notify, wake readers and fail WATCHes.

    Returns the ID as a reply.
    """
    instance: Instance = client.instance
    reply = stream.append_raw(
        id_ms(entry_id),
        id_seq(entry_id),
        fields,
        words,
        instance.node_max_entries,
        instance.node_max_bytes,
    )
    written(client, key, _EVENTS, b"xadd")
    if stream.policy is not None:
        appended(client, key, stream)
    return reply


# -- the ID ------------------------------------------------------------------------------------


def automatic_id(last_id: EntryID, now_ms: cython.ulonglong) -> EntryID:
    """The ID for `*`: the current time, or the last ID plus one if that is not greater."""
    entry_id = make_id(now_ms, 0)
    if entry_id > last_id:
        return entry_id
    if last_id == _LAST_ID:
        raise ReplyError(errors.XADD_EXHAUSTED)
    return last_id + 1


def _read_id(text: bytes) -> bool:
    """Read an ID that is not canonical into `_PLAIN_ID`; False if its sequence number is `*`."""
    given: PlainID = _PLAIN_ID
    ms, seq = _parse_id(text)
    given.ms, given.seq = ms, seq or 0
    return seq is not None


def _given_id(last_id: EntryID, has_seq: cython.bint) -> EntryID:
    """The new entry's ID. Raises ReplyError if it is not above the last one."""
    given: PlainID = _PLAIN_ID
    if last_id == _LAST_ID:
        raise ReplyError(errors.XADD_EXHAUSTED)
    if not has_seq and id_ms(last_id) == given.ms and id_seq(last_id) < _GREATEST_SEQ:
        return last_id + 1
    # Where the millisecond has no sequence number left, this is below the last ID.
    entry_id = make_id(given.ms, given.seq)
    if entry_id <= last_id:
        raise ReplyError(errors.XADD_ID_SMALL)
    return entry_id


def _parse_id(text: bytes) -> tuple[int, int | None]:
    parts = parse_partial_id(text)
    if parts is None:
        raise ReplyError(errors.INVALID_STREAM_ID)
    return parts


# -- the options -------------------------------------------------------------------------------


def _capped(client: Client, request: Request) -> AddOptions:
    """The options of a request that begins with MAXLEN; a producer sends the same ones again."""
    # Without `=` or `~` before the threshold, an option may follow whose argument is `*`.
    is_marked: cython.bint = request.is_byte(3, _EQUALS) or request.is_byte(3, _TILDE)
    id_position: cython.Py_ssize_t = 5 if is_marked else 4
    # A trim that is replayed has no limit.
    has_limit: cython.bint = client.replays and request.is_byte(3, _TILDE)
    if has_limit or request.count <= id_position:
        return _parse(client, request.words())
    caps: KnownCaps = _known_caps
    instance: Instance = client.instance
    if instance.node_max_entries != caps.node_max_entries:
        caps.reset(instance.node_max_entries)
    text = request.part(2, id_position)
    options: AddOptions | None = caps.options.get(text)
    given: PlainID = _PLAIN_ID
    # The ID comes next, unless other options do.
    is_whole: cython.bint = request.is_byte(id_position, _STAR)
    if options is None or not (is_whole or given.read(request.word(id_position))):
        options = _parse(client, request.words())
        if options.id_position == id_position:
            if len(caps.options) >= MAX_CAPS:
                caps.options.clear()
            caps.options[text] = options
    return options


def _parse(client: Client, argv: Argv) -> AddOptions:
    """Parse options in any order, up to `*` or the first word that is no option: the ID.

    Raises ReplyError.
    """
    trim_options = TrimOptions()
    options = AddOptions(2)
    position = 2
    while position < len(argv) and argv[position] != b"*":
        after = trim_options.take(argv, position)
        if after > position:
            position = after
        elif argv[position].upper() == b"NOMKSTREAM":
            options.no_mkstream = True
            position += 1
        elif (given := parse_idempotency(argv, position)) is not None:
            if options.idempotency is not None:
                raise ReplyError(errors.IDMP_TWICE)
            options.idempotency = given
            position += given.words
        elif (later := parse_later(argv, position, options.later)) is not None:
            options.later = later
            position += 2
        else:
            _parse_id(argv[position])
            if options.idempotency is not None and not client.replays:
                raise ReplyError(errors.IDMP_WITH_ID)
            break
    options.id_position = position
    trim = trim_options.finish(
        client.instance.config.stream_node_max_entries, required=False, is_replay=client.replays
    )
    if trim is not None:
        options.add_trim(trim)
    field_words = len(argv) - position - 1
    if field_words < 2 or field_words % 2:
        raise errors.wrong_arity(b"xadd")
    if options.idempotency is not None:
        options.idempotency.complete(argv[position + 1 :])
    names_policy = not POLICIES.keys().isdisjoint(map(bytes.upper, argv[2:position]))
    options.is_carried = names_policy or options.idempotency is not None
    if options.later is not None:
        if argv[position] != b"*":
            raise ReplyError(errors.DELAY_WITH_ID)
        if trim is not None or names_policy:
            raise ReplyError(errors.DELAY_WITH_TRIM)
    return options
