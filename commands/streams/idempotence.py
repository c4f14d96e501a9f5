"""Idempotent production (Redis 8.6): an entry that is sent twice is added once.

    IDMP producer-id idempotent-id | IDMPAUTO producer-id         options of XADD
    XIDMPRECORD                                                   restores a remembered ID

A stream remembers, for each producer, the newest idempotent IDs and the entry that each made
(storage/idempotence.py); XCFGSET (settings.py) sets how long, and how many. IDMPAUTO takes a hash
of the fields and values for the idempotent ID.
"""

from __future__ import annotations

from collections import OrderedDict
from weakref import ref

from commands.config.configuration import Configuration
from commands.core.client import Client
from commands.core.instance import STORED, Instance
from commands.core.registry import DENYOOM, FAST, WRITE, command, one_key, propagate_carried
from commands.streams.groups.delivery import group_changed
from commands.streams.ids import parse_strict
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.request import Request
from protocol.requests import Argv
from storage.entries.entry_id import EntryID, make_id
from storage.idempotence import DEFAULT_DURATION_S, DEFAULT_MAXSIZE, Idempotence, automatic_iid
from storage.keyspace.database import Database
from storage.stream import Stream


@record
class Idempotency:
    """IDMP or IDMPAUTO of one XADD: how the producer names what it sends."""

    pid: bytes
    iid: bytes  # empty until it is made from the entry (IDMPAUTO)
    words: int  # that the option takes in the request

    def complete(self, fields: list[bytes]) -> None:
        """Make the idempotent ID from the entry, if the producer gave none."""
        self.iid = self.iid or automatic_iid(fields)

    def find(self, stream: Stream | None) -> EntryID | None:
        """The ID of the entry that was added for this idempotent ID; counts the duplicate.

        The ticket, if the entry will be added later.
        """
        if stream is None:
            return None
        if stream.policy is not None and stream.policy.schedule is not None:
            ticket = stream.policy.schedule.find(self.pid, self.iid)
            if ticket is not None:
                return make_id(*ticket)
        if stream.idempotence is None:
            return None
        known = stream.idempotence.find(self.pid, self.iid)
        if known is not None:
            stream.idempotence.note_duplicate()
        return known


def parse_idempotency(argv: Argv, position: int) -> Idempotency | None:
    """The option at `position`, if it is one; raises ReplyError.

    An option word without its arguments is not an option.
    """
    option = argv[position].upper()
    if option == b"IDMP" and position + 2 < len(argv):
        pid, iid = argv[position + 1], argv[position + 2]
        if not pid:
            raise errors.idmp_without_pid(option)
        if not iid:
            raise ReplyError(errors.IDMP_WITHOUT_IID)
        return Idempotency(pid, iid, words=3)
    if option == b"IDMPAUTO" and position + 1 < len(argv):
        if not argv[position + 1]:
            raise errors.idmp_without_pid(option)
        return Idempotency(argv[position + 1], b"", words=2)
    return None


def new_stream(config: Configuration) -> Stream:
    """An empty stream with the configuration's defaults for idempotent production."""
    stream = Stream()
    defaults = (config.stream_idmp_duration, config.stream_idmp_maxsize)
    if defaults != (DEFAULT_DURATION_S, DEFAULT_MAXSIZE):
        stream.idempotence = Idempotence(*defaults)
    return stream


def idempotence_of(stream: Stream) -> Idempotence:
    """The stream's remembered IDs; created at first use."""
    if stream.idempotence is None:
        stream.idempotence = Idempotence()
    return stream.idempotence


def remember(client: Client, stream: Stream, pid: bytes, iid: bytes, entry_id: EntryID) -> None:
    """Remember the entry that was added for a producer's idempotent ID."""
    idempotence = idempotence_of(stream)
    idempotence.record(pid, iid, entry_id)
    client.instance.feature(IdempotenceWatch).watch(idempotence)


@command("XIDMPRECORD", arity=5, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"UPDATE"))
def xidmprecord(client: Client, argv: Request) -> bytes:
    """OK, also if it was noted before. For the append-only file. Source: Redis 8.6.2."""
    _, key, pid, iid, text = argv
    if not pid:
        raise ReplyError(errors.RECORD_WITHOUT_PID)
    if not iid:
        raise ReplyError(errors.RECORD_WITHOUT_IID)
    entry_id = parse_strict(text)
    stream: Stream | None = client.lookup_stream_for_write(key)
    if stream is None:
        raise ReplyError(errors.NO_SUCH_KEY)
    if entry_id not in stream:
        raise ReplyError(errors.RECORD_NO_ENTRY)
    known = None if stream.idempotence is None else stream.idempotence.find(pid, iid)
    if known is None:
        remember(client, stream, pid, iid, entry_id)
        group_changed(client, key)
        propagate_carried(client, *argv)
    elif known != entry_id:
        raise ReplyError(errors.RECORD_OTHER_ENTRY)
    return replies.OK


class IdempotenceWatch:
    """The sets of remembered IDs that hold at least one ID, in the order of the next check."""

    def __init__(self, instance: Instance) -> None:
        self._queue: OrderedDict[ref[Idempotence], None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._queue)

    def watch(self, idempotence: Idempotence) -> None:
        """Expire the old IDs of `idempotence` from now on; no effect if it is watched already."""
        self._queue.setdefault(ref(idempotence))

    def expire(self, now_ms: int, limit: int) -> None:
        """Drop expired IDs, one stream after another, until `limit` producers were checked."""
        for _ in range(len(self._queue)):
            if limit <= 0:
                return
            reference, _ = self._queue.popitem(last=False)
            idempotence = reference()
            if idempotence is None:
                continue
            looked_at = min(limit, idempotence.pids_tracked)
            idempotence.expire(now_ms, looked_at)
            limit -= looked_at
            if idempotence.pids_tracked:
                self.watch(idempotence)


def _watch_stored(instance: Instance, db: Database, key: bytes, stream: Stream) -> None:
    """A stream is stored at a key; it may be a copy."""
    if stream.idempotence is not None:
        instance.feature(IdempotenceWatch).watch(stream.idempotence)


STORED.setdefault(Stream, []).append(_watch_stored)
