"""DUMP and RESTORE: a serialized value that any server can load.

A payload is Redis's, so it has no policies. MIGRATE sends those of a stream beside it, as the last
option of RESTORE (Rillway's own): POLICIES count text [text ...]. A Redis answers with a syntax
error.

RESTORE always validates the payload in full, whatever `sanitize-dump-payload` says, and changes
nothing if it is damaged. That of a large stream is validated in time slices, and its client is
blocked meanwhile: what RESTORE does, it does at the end, to the key as it is then.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import field
from functools import partial
from typing import TypeAlias

from commands.config.configuration import Configuration
from commands.core import notifications
from commands.core.arguments import INT64_MAX, Arguments, parse_int
from commands.core.blocked_clients import Block
from commands.core.client import Client
from commands.core.gates import GATE_PRIMARY
from commands.core.instance import MAX_FREQUENCY
from commands.core.long_reply import LongReply
from commands.core.registry import (
    ASKING,
    DENYOOM,
    READONLY,
    WRITE,
    command,
    one_key,
    propagate_carried,
)
from commands.keys.existence import find
from commands.replication.replica_table import check_field_times
from commands.streams.policies.carrier import propagate_row
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.request import Request
from protocol.requests import Argv
from storage.append_only.requests import rebuild_times
from storage.policies.rows import UnknownPolicy, restore_text, rows_of
from storage.redis_format.primitives import CorruptSnapshot
from storage.snapshot.format import SnapshotOptions
from storage.snapshot.opcodes import STREAM_2, STREAM_3
from storage.snapshot.payload import (
    BadChecksum,
    dump,
    dump_pieces,
    payload_version,
    restore_in_steps,
)
from storage.stream import Stream
from storage.types.hashes import HashValue
from storage.types.value import Value

# How long RESTORE validates before the loop polls.
SLICE_US = 2000

# How payloads are propagated: every Redis since 7.0 reads them.
OLD_OPTIONS = SnapshotOptions(stream_type=STREAM_2)
_OLD_OPTIONS_VERSION = 10
# How Valkey 9 is sent what has a newer type in Redis.
VALKEY_OPTIONS = SnapshotOptions(stream_type=STREAM_3, for_valkey=True)

# Values that take more than some milliseconds to serialize (see Value.effort) are sent in pieces.
MUCH_EFFORT = 32


def snapshot_options(config: Configuration) -> SnapshotOptions:
    """The options for writing snapshots and payloads, from the configuration."""
    form = config.rdb_stream_type
    for_valkey = form == "valkey"
    return SnapshotOptions(
        compress=config.rdbcompression,
        checksum=config.rdbchecksum,
        stream_type=None if form == "auto" else STREAM_3 if for_valkey else int(form),
        for_valkey=for_valkey,
        keeps_idle_times=config.maxmemory_policy.endswith("lru"),
        keeps_frequencies=config.maxmemory_policy.endswith("lfu"),
    )


@command("DUMP", arity=2, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def dump_command(client: Client, argv: Request) -> bytes | LongReply:
    """Bulk string, null without the key. Source: Redis 7.2."""
    value = client.lookup(argv[1])
    if value is None:
        return replies.NIL[client.resp]
    instance = client.instance
    options = snapshot_options(instance.config)
    if value.effort > MUCH_EFFORT:
        twin = value.copy()
        return LongReply(_dump_in_pieces(twin, options, instance.now_ms), twin.release)
    return replies.bulk(dump(value, options, instance.now_ms))


def _dump_in_pieces(value: Value, options: SnapshotOptions, now_ms: int) -> Iterator[bytes]:
    """The reply for a value that stays as it is. Its length has to be known first."""
    pieces: list[bytes] = []
    for piece in dump_pieces(value, options, now_ms):
        pieces.append(piece)
        yield b""
    yield b"$%d\r\n" % sum(map(len, pieces))
    yield from pieces
    yield b"\r\n"


# Decodes a payload in steps; its result is the value, and its payload for propagation, if that is
# another one and was made already.
Decoding: TypeAlias = Generator[None, None, tuple[Value, bytes | None]]


@record
class _Options:
    """The options after the payload."""

    replace: bool = False
    absolute: bool = False  # the time to live is a Unix time
    idle_s: int | None = None
    frequency: int | None = None
    policies: list[bytes] = field(default_factory=list)  # texts of storage/policies/rows.py
    words_end: int = 0  # the word that POLICIES is, which file and replicas do not get


@command("RESTORE", arity=-4, flags=WRITE | DENYOOM, keys=one_key(b"OW", b"UPDATE"))
def restore_command(client: Client, argv: Request) -> bytes | Block:
    """OK. With a deadline in the past no key is created; with REPLACE the old one is removed.

    Errors in Redis's order: options, BUSYKEY, the time to live, the payload. Source: Redis 7.2.
    """
    return _restore(client, argv)


@command("RESTORE-ASKING", arity=-4, flags=WRITE | DENYOOM | ASKING, keys=one_key(b"OW", b"UPDATE"))
def restore_asking(client: Client, argv: Request) -> bytes | Block:
    """RESTORE in a slot that is being imported: what MIGRATE sends. Source: Redis 7.0."""
    return _restore(client, argv)


def _restore(client: Client, argv: Request) -> bytes | Block:
    options = _parse_options(Arguments(argv, 4))
    _replaced(client, argv, options)
    _parse_deadline(client, argv[2], options)
    words = argv.words()
    if options.policies:
        words = words[: options.words_end]
    return _decode_on(words, options, _decoding(client, argv[3]), client)


def _decode_on(argv: Argv, options: _Options, steps: Decoding, client: Client) -> bytes | Block:
    """Decode the payload, and store the value; a Block if its time slice ends before that."""
    instance = client.instance
    may_wait = not client.deny_blocking and not client.replays
    end_us = instance.host.monotonic_us() + SLICE_US
    try:
        next(steps)
        while not may_wait or instance.host.monotonic_us() < end_us:
            next(steps)
    except StopIteration as end:
        return _store(client, argv, options, *end.value)
    except BadChecksum:
        raise _refusal(client, argv[1], errors.BAD_PAYLOAD) from None
    except CorruptSnapshot:
        raise _refusal(client, argv[1], errors.BAD_DATA_FORMAT) from None
    go_on = partial(_decode_on, argv, options, steps)
    return Block([], 0, go_on, None, wake_ms=instance.monotonic_ms)


def _refusal(client: Client, key: bytes, error: bytes) -> ReplyError:
    """The error for a payload that cannot be read; a replica lacks the value until it has all of
    the data again.
    """
    instance = client.instance
    if client.gates & GATE_PRIMARY:
        what = f"the payload for '{instance.shown(key)}' is refused"
        instance.replication.link.damage = f"{what}: {error.decode().removeprefix('ERR ')}"
    return ReplyError(error)


def _replaced(client: Client, argv: Request | Argv, options: _Options) -> Value | None:
    """The value that RESTORE replaces. Raises ReplyError if it must not."""
    old = find(client, client.db, argv[1])
    if old is not None and not options.replace:
        raise ReplyError(errors.BUSY_KEY)
    return old


def _store(
    client: Client, argv: Argv, options: _Options, value: Value, older: bytes | None
) -> bytes:
    instance, key = client.instance, argv[1]
    old = _replaced(client, argv, options)
    _restore_policies(value, options.policies)
    deadline_ms = _parse_deadline(client, argv[2], options)
    if type(value) is not Stream and value.first_deadline_ms() is not None:
        check_field_times(client, b"restore")
    if old is not None:
        client.remove(key)
    if deadline_ms is not None and deadline_ms <= instance.now_ms and not client.replays:
        _restore_nothing(client, key, old)
        return replies.OK
    client.store(key, value)
    if options.idle_s is not None and not instance.counts_accesses:
        value.access_ms = max(instance.now_ms - options.idle_s * 1000, 0)
    if options.frequency is not None and instance.counts_accesses:
        value.frequency = options.frequency
    if deadline_ms is not None:
        client.expire_at(client.db, key, deadline_ms)
    _propagate_restored(client, argv, value, deadline_ms, older)
    client.modified(key)
    client.notify(notifications.GENERIC, b"restore", key)
    if old is not None:
        instance.notify_overwritten(client.db, key, old, value)
    return replies.OK


def _propagate_restored(
    client: Client, argv: Argv, value: Value, deadline_ms: int | None, older: bytes | None
) -> None:
    """Propagate the payload in the format of Redis 7.0 (`older`), unless it has an older one.

    What a stream loses by that is in a carrier. Times of fields, which Redis and Valkey have no
    common format for, follow as requests.
    """
    if not client.instance.propagation.sinks:
        return
    payload, words = argv[3], list(argv[4:])
    ttl = argv[2] if deadline_ms is None else b"%d" % deadline_ms
    if deadline_ms is not None and b"ABSTTL" not in map(bytes.upper, words):
        words.append(b"ABSTTL")
    if payload_version(payload) <= _OLD_OPTIONS_VERSION:
        client.propagate(*argv[:2], ttl, payload, *words)
        if type(value) is Stream:
            _propagate_policies(client, argv[1], value)
        return
    if older is None:  # a replica has come since
        older = dump(value, OLD_OPTIONS, client.instance.now_ms)
    client.propagate(*argv[:2], ttl, older, *words)
    if type(value) is Stream:
        propagate_carried(client, b"RESTORE", argv[1], ttl, payload, b"REPLACE", *words)
        _propagate_policies(client, argv[1], value)
    elif isinstance(value, HashValue):
        for request in rebuild_times(argv[1], value):
            client.propagate(*request)


def _restore_policies(value: Value, texts: list[bytes]) -> None:
    """Give a stream the policies that MIGRATE has sent with it. Raises ReplyError."""
    if texts and not isinstance(value, Stream):
        raise ReplyError(errors.SYNTAX)
    try:
        for text in texts:
            assert isinstance(value, Stream)
            restore_text(value, text)
    except UnknownPolicy as error:
        raise ReplyError(b"ERR " + str(error).encode()) from None


def _propagate_policies(client: Client, key: bytes, stream: Stream) -> None:
    for row in rows_of(stream):
        propagate_row(client, key, *row)


def _restore_nothing(client: Client, key: bytes, old: Value | None) -> None:
    """The deadline is in the past: only notify and propagate the removal of the old key."""
    if old is None:
        return
    client.modified(key)
    client.notify(notifications.GENERIC, b"del", key)
    client.propagate(b"DEL", key)


def _parse_options(arguments: Arguments) -> _Options:
    options = _Options()
    while arguments:
        word = arguments.next_keyword()
        if word == b"REPLACE":
            options.replace = True
        elif word == b"ABSTTL":
            options.absolute = True
        elif word == b"IDLETIME" and arguments and options.frequency is None:
            options.idle_s = arguments.next_int()
            if options.idle_s < 0:
                raise ReplyError(errors.INVALID_IDLETIME)
        elif word == b"FREQ" and arguments and options.idle_s is None:
            options.frequency = arguments.next_int()
            if not 0 <= options.frequency <= MAX_FREQUENCY:
                raise ReplyError(errors.INVALID_FREQ)
        elif word == b"POLICIES" and arguments.remaining > 1:
            options.words_end = arguments.position - 1
            count = arguments.next_int()
            if count < 1 or count != arguments.remaining:
                raise ReplyError(errors.SYNTAX)
            options.policies = [arguments.next() for _ in range(count)]
        else:
            raise ReplyError(errors.SYNTAX)
    return options


def _parse_deadline(client: Client, text: bytes, options: _Options) -> int | None:
    """When the key is to expire, in Unix ms; None for a time to live of 0, which means never."""
    ttl_ms = parse_int(text)
    if ttl_ms < 0:
        raise ReplyError(errors.INVALID_TTL)
    if ttl_ms == 0:
        return None
    if options.absolute:
        return ttl_ms
    # Redis lets the sum overflow, and makes no key then.
    return min(ttl_ms + client.instance.now_ms, INT64_MAX)


def _decoding(client: Client, payload: bytes) -> Decoding:
    instance = client.instance
    # A request from a file was accepted before, perhaps under another configuration.
    max_bytes = None if client.replays else instance.config.proto_max_bulk_len
    value = yield from restore_in_steps(
        payload, instance.now_ms, limits=instance.encoding_limits, max_string_bytes=max_bytes
    )
    if not instance.propagation.sinks or payload_version(payload) <= _OLD_OPTIONS_VERSION:
        return value, None
    pieces = []
    for piece in dump_pieces(value, OLD_OPTIONS, instance.now_ms):
        pieces.append(piece)
        yield
    return value, b"".join(pieces)
