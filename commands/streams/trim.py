"""XTRIM, and the trimming options that it shares with XADD (Redis 7.4).

    <MAXLEN | MINID> [= | ~] threshold [LIMIT count] [KEEPREF | DELREF | ACKED]

Exact trims remove entry by entry; approximate ones (`~`) whole nodes at the head, and no more
entries than the limit. An approximate trim depends on where the nodes of this server end, so it is
propagated as the exact trim that has the same result. LIMIT is left out there, so that every server
accepts the request from any client. Redis writes `= threshold LIMIT count` instead and ignores
LIMIT in requests from a primary or a file; so does Rillway (`client.replays`).

With DELREF and ACKED each entry must be checked, so whole nodes cannot be dropped; `~` then only
applies the limit. DELREF also drops the references to entries in between that were deleted before,
even if it removes no entry.
"""

from __future__ import annotations

from dataclasses import field

from commands.config.configuration import Configuration
from commands.core import notifications
from commands.core.arguments import parse_int
from commands.core.client import Client
from commands.core.registry import WRITE, command, one_key, propagate_carried
from commands.core.services import Services
from commands.streams.delete import POLICIES
from commands.streams.groups.delivery import group_changed, propagate_removals
from commands.streams.ids import parse_strict
from commands.streams.lookup import report_damage
from commands.streams.policies.timer import note
from commands.streams.request_cache import RequestCache
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.request import Request
from protocol.requests import Argv
from storage.entries.entry_id import MAX_ID, format_id
from storage.groups.group import References, Traces
from storage.nodes.listpack_node import DamagedNode, ListpackNode
from storage.stream import Stream

# The default limit of an approximate trim, in nodes, and its bounds in entries.
DEFAULT_LIMIT_NODES = 100
DEFAULT_LIMIT_WITHOUT_NODES = 10_000
MAX_DEFAULT_LIMIT = 1_000_000


@record
class Trim:
    """A trim of a stream's head, parsed and checked."""

    by_length: bool  # MAXLEN, or else MINID
    threshold: int  # a number of entries, or an entry ID
    approximate: bool
    limit: int  # entries at most, 0: no limit; only approximate trims have one
    threshold_position: int  # its position in argv
    limit_positions: list[int]  # the position of the word LIMIT in argv; it may be given again
    references: References = References.KEEP
    traces: Traces = field(default_factory=Traces)  # of DELREF or ACKED, once it has run

    def apply(self, stream: Stream, client: Client) -> int:
        """Trim the stream; return the number of entries removed.

        A damaged node is not cut: it stays until all of it is to be removed. An entry that was
        added before the trim must not fail by it. A replica cannot go on with such a difference to
        its primary, so there it raises DamagedNode.
        """
        length = stream.length
        if self.by_length and length <= self.threshold:
            return 0
        trim = stream.trim_to_length if self.by_length else stream.trim_before
        try:
            return trim(
                self.threshold,
                approximate=self.approximate,
                limit=self.limit,
                references=self.references,
                discard=client.instance.background_work.discard,
                traces=self.traces,
            )
        except DamagedNode as error:
            if client.replays:
                raise
            report_damage(client, error)
            return length - stream.length

    def may_remove(self, stream: Stream) -> bool:
        """Return True if a trim right after one more entry was appended could remove anything.

        Conservative: True where it is not certain.
        """
        head = next(stream.iter_nodes(), None)
        if head is None:
            return False
        length = stream.length + 1
        whole_nodes = self.approximate and self.references is References.KEEP
        if self.by_length and whole_nodes:
            return length - head.live >= self.threshold
        if self.by_length:
            return length > self.threshold
        if whole_nodes and not isinstance(head, ListpackNode):
            return head.highest_id < self.threshold
        return head.key < self.threshold

    def _is_exact(self, stream: Stream) -> bool:
        """Return True if the trim, which has run, has the same result on any server."""
        if self.approximate or not stream.length:
            return not self.approximate
        if self.by_length:
            return stream.length <= self.threshold
        return stream.first_id >= self.threshold

    def words(self, stream: Stream) -> list[bytes]:
        """The words of an exact trim with the result that this one has had."""
        if self._is_exact(stream) and self.references is not References.ACKED:
            text = b"%d" % self.threshold if self.by_length else format_id(self.threshold)
        elif self.by_length or self.references is References.ACKED:
            # Entries that groups keep may precede removed ones, so the first ID does not define the
            # trim.
            return [b"MAXLEN", b"=", b"%d" % stream.length]
        else:
            # If the stream is empty, the replica's must be empty too.
            text = format_id(stream.first_id if stream.length else MAX_ID)
        return [b"MAXLEN" if self.by_length else b"MINID", b"=", text]

    def propagate(self, client: Client, key: bytes, stream: Stream) -> None:
        """Propagate the trim after it has left `traces`, in words that Redis 7.0 knows.

        With ACKED the entries need not be the first ones: a Redis deletes them one by one.
        """
        removed = self.traces.removed
        leaves_gaps = bool(removed) and stream.length > 0 and removed[-1] > stream.first_id
        if self.references is References.ACKED and leaves_gaps:
            propagate_carried(client, b"XTRIM", key, *self.words(stream), b"ACKED")
            propagate_removals(client, key, {}, removed)
        elif removed or self.references is References.KEEP:
            client.propagate(b"XTRIM", key, *self.words(stream))
        propagate_removals(client, key, self.traces.dropped, [])

    def exact_form(self, argv: Argv, stream: Stream) -> Argv:
        """The request, after it ran, with a trim that has the same result on any server."""
        if self._is_exact(stream):
            return argv
        exact = list(argv)
        place = self.threshold_position
        width = 2 if argv[place - 1] in (b"~", b"=") else 1
        exact[place - width : place + 1] = self.words(stream)
        for position in reversed(self.limit_positions):
            del exact[position : position + 2]
        return exact


class TrimOptions:
    """Collects the trimming options of a request while it is parsed."""

    __slots__ = (
        "_approximate",
        "_by_length",
        "_limit",
        "_limits_at",
        "_references",
        "_threshold",
        "_threshold_at",
    )

    def __init__(self) -> None:
        self._by_length = False
        self._threshold = 0
        self._threshold_at = 0  # 0: no strategy yet
        self._approximate = False
        self._limit = 0
        self._limits_at: list[int] = []
        self._references: References | None = None  # None: no word for it yet

    def take(self, argv: Argv, position: int) -> int:
        """The position after the option at `position`; the same position if there is no option.

        Raises ReplyError for an option that does not fit. An option word that ends the request
        without its argument is not an option, as in Redis, nor is a second word of KEEPREF, DELREF
        and ACKED.
        """
        word = argv[position].upper()
        if word in POLICIES and self._references is None:
            self._references = POLICIES[word]
            return position + 1
        if position + 1 == len(argv):
            return position
        if word == b"MAXLEN" or word == b"MINID":
            return self._take_strategy(argv, position)
        if word == b"LIMIT":
            self._limit = parse_int(argv[position + 1])
            if self._limit < 0:
                raise ReplyError(errors.TRIM_LIMIT_NEGATIVE)
            self._limits_at.append(position)
            return position + 2
        return position

    def _take_strategy(self, argv: Argv, position: int) -> int:
        if self._threshold_at:
            raise ReplyError(errors.TRIM_BOTH)
        self._by_length = argv[position].upper() == b"MAXLEN"
        position += 1
        if argv[position] in (b"~", b"=") and position + 1 < len(argv):
            self._approximate = argv[position] == b"~"
            position += 1
        if self._by_length:
            self._threshold = parse_int(argv[position])
            if self._threshold < 0:
                raise ReplyError(errors.TRIM_MAXLEN_NEGATIVE)
        else:
            self._threshold = parse_strict(argv[position])
        self._threshold_at = position
        return position + 1

    def finish(
        self, node_max_entries: int, *, required: bool, is_replay: bool = False
    ) -> Trim | None:
        """The trim that the options ask for, None if they ask for none.

        `node_max_entries`: that directive. `required`: asking for none is an error (XTRIM).
        `is_replay`: the trim was limited where the request ran first, so here nothing limits it.
        """
        if self._limit and not self._threshold_at:
            raise ReplyError(errors.TRIM_LIMIT_WITHOUT_STRATEGY)
        if required and not self._threshold_at:
            raise ReplyError(errors.XTRIM_WITHOUT_STRATEGY)
        if self._limits_at and not self._approximate and not is_replay:
            raise ReplyError(errors.TRIM_LIMIT_WITHOUT_APPROX)
        if not self._threshold_at:
            return None
        limit = 0 if is_replay else self._limit
        if self._approximate and not self._limits_at and not is_replay:
            limit = _limit_without_word(node_max_entries)
        return Trim(
            self._by_length,
            self._threshold,
            self._approximate,
            limit,
            self._threshold_at,
            self._limits_at,
            self._references or References.KEEP,
        )


def default_limit(config: Configuration) -> int:
    """The maximum of entries that an approximate trim without LIMIT removes."""
    return _limit_without_word(config.stream_node_max_entries)


def _limit_without_word(node_max_entries: int) -> int:
    limit = DEFAULT_LIMIT_NODES * node_max_entries
    if limit <= 0:
        limit = DEFAULT_LIMIT_WITHOUT_NODES
    return min(limit, MAX_DEFAULT_LIMIT)


# The options of XTRIMs that were parsed, for all servers of the process, with the
# `stream-node-max-entries` at that time.
_KNOWN: RequestCache[tuple[int, Trim]] = RequestCache()


def _parse(client: Client, request: Request, node_max_entries: int) -> Trim:
    """The trim that an XTRIM asks for. Raises ReplyError."""
    argv, options, position = request.words(), TrimOptions(), 2
    while position < len(argv):
        after = options.take(argv, position)
        if after == position:
            raise ReplyError(errors.SYNTAX)
        position = after
    trim = options.finish(node_max_entries, required=True, is_replay=client.replays)
    assert trim is not None
    return trim


@command("XTRIM", arity=-4, flags=WRITE, keys=one_key(b"RW", b"DELETE"), is_quick=True)
def xtrim(client: Client, request: Request) -> bytes:
    """Integer: the number of entries removed. Source: Redis 8.2."""
    options_wire, node_max_entries = request.tail(2), client.instance.node_max_entries
    known = _KNOWN.get(options_wire)
    if known is not None and known[0] == node_max_entries and not client.replays:
        trim = known[1]
    else:
        trim = _parse(client, request, node_max_entries)
        # Others leave traces in their trim.
        if trim.references is References.KEEP and not client.replays:
            _KNOWN.put(options_wire, (node_max_entries, trim))
    key = request.word(1)
    stream: Stream | None = client.lookup_stream_for_write(key)
    if stream is None or (trim.by_length and stream.length <= trim.threshold):
        return replies.ZERO
    removed = trim.apply(stream, client)
    if not removed and trim.references is References.KEEP:
        return replies.ZERO
    request.takes_long = True
    is_changed = trimmed(client, key, trim, removed)
    if removed and stream.policy is not None:
        note(client, key, stream)
    argv = request.words()
    if POLICIES.keys().isdisjoint(map(bytes.upper, argv)):
        if removed:
            client.propagate(*trim.exact_form(argv, stream))
    elif is_changed:
        trim.propagate(client, key, stream)
    return replies.integer(removed)


def trimmed(client: Client, key: bytes, trim: Trim, removed: int) -> bool:
    """Announce a trim that has run: its event, and the change. Returns False if nothing changed."""
    if removed:
        client.notify(notifications.STREAM, b"xtrim", key)
        client.modified(key, removed)
    if trim.traces.dropped:
        group_changed(client, key)
    return bool(removed or trim.traces.dropped)


def serve_waiters_first(client: Client, key: bytes) -> None:
    """Serve blocked readers before a trim removes entries that they wait for.

    XADD does not serve them otherwise before it runs, so that several XADDs of one cycle reach a
    reader as one reply. Redis serves them after every command, but not within a transaction.
    """
    watched = (client.db.index, key)
    if watched in client.instance.ready_keys.signalled and not client.deny_blocking:
        client.instance.feature(Services).runner.serve_ready_keys()
