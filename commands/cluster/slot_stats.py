"""CLUSTER SLOT-STATS: keys, processor time and network bytes of each slot of this node.

Times and bytes are counted while `cluster-slot-stats-enabled` is yes: those of each request whose
keys are in one slot. A script counts with the keys of its EVAL or FCALL, the requests of a
transaction count one by one.

Source: Redis 8.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from commands.cluster.mode import node_of
from commands.core.arguments import Arguments, parse_int
from commands.core.client import Client
from commands.core.instance import Instance
from commands.core.registry import LOADING, STALE, Command, Reply, command
from commands.scripting.calls import ScriptClient
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import SLOT_COUNT, Request, key_slot

# Each with its place in the figures of a slot.
METRICS = {b"key-count": 0, b"cpu-usec": 1, b"network-bytes-in": 2, b"network-bytes-out": 3}
Figures: TypeAlias = "list[int]"


class SlotStats:
    """What the slots of one instance have taken. It observes requests while it is on."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self.is_on = False
        self._sums: dict[int, list[int]] = {}  # by slot: ns, bytes in, bytes out

    def look_up(self) -> None:
        """Read `cluster-slot-stats-enabled`."""
        is_on = self._instance.is_cluster and self._instance.config.cluster_slot_stats_enabled != (
            "no"
        )
        if is_on != self.is_on:
            self.is_on = is_on
            self._instance.observe_requests(self, is_on=is_on, times=True)

    def reset(self) -> None:
        """CONFIG RESETSTAT."""
        self._sums.clear()

    def figures(self, slot: int, keys: int) -> Figures:
        """The values of METRICS; the number of keys alone if nothing else is counted."""
        if not self.is_on:
            return [keys]
        ns, came, left = self._sums.get(slot, (0, 0, 0))
        return [keys, ns // 1000, came, left]

    # -- RequestObserver -----------------------------------------------------------------------

    def ran(
        self,
        client: Client,
        command: Command,
        request: Request,
        reply: Reply,
        elapsed_ns: int,
        is_first: bool,
    ) -> None:
        """Count a request."""
        came = len(request.whole()) if is_first and command.keys else 0
        left = len(reply) if isinstance(reply, bytes) else 0
        self._count(client, command, request.words(), (elapsed_ns, came, left))

    def refused(
        self, client: Client, command: Command | None, words: Sequence[bytes], code: bytes
    ) -> None:
        """A refused request counts for no slot."""

    def sent(
        self, client: Client, command: Command, words: Sequence[bytes], size: int, elapsed_us: int
    ) -> None:
        """Count the pieces of a long reply."""
        self._count(client, command, words, (elapsed_us * 1000, 0, size))

    def _count(
        self,
        client: Client,
        command: Command,
        words: Sequence[bytes],
        amounts: tuple[int, int, int],
    ) -> None:
        if not command.keys or client.replays or isinstance(client, ScriptClient):
            return
        slots = {key_slot(words[at]) for at in command.key_positions(words)}
        if len(slots) == 1:
            sums = self._sums.setdefault(slots.pop(), [0, 0, 0])
            for place, amount in enumerate(amounts):
                sums[place] += amount


# -- the command -------------------------------------------------------------------------------


@command("CLUSTER SLOT-STATS", arity=-4, flags=STALE | LOADING)
def cluster_slot_stats(client: Client, argv: Request) -> bytes:
    """Array of slots with a map each, in order of the slots or of a metric. Source: Redis 8.2."""
    node_of(client)
    arguments = Arguments(argv, 2)
    if arguments.remaining == 3 and arguments.take(b"SLOTSRANGE"):
        first, last = _slot(arguments.next()), _slot(arguments.next())
        if first > last:
            text = b"ERR Start slot number %d is greater than end slot number %d"
            raise ReplyError(text % (first, last))
        return _reply(client, _rows(client, range(first, last + 1)))
    if arguments.take(b"ORDERBY"):
        return _in_order(client, arguments)
    raise errors.subcommand_syntax(b"CLUSTER", argv[1])


def _slot(word: bytes) -> int:
    return parse_int(word, errors.SLOT_OUT_OF_RANGE, 0, SLOT_COUNT - 1)


def _in_order(client: Client, arguments: Arguments) -> bytes:
    place = METRICS.get(arguments.next().lower())
    is_on = client.instance.feature(SlotStats).is_on
    if place is None or (place and not is_on):
        raise ReplyError(b"ERR Unrecognized sort metric for ORDERBY.")
    limit, is_ascending = _order(arguments)
    rows = _rows(client, range(SLOT_COUNT))
    rows.sort(key=lambda row: (row[1][place] if is_ascending else -row[1][place], row[0]))
    return _reply(client, rows[:limit])


def _order(arguments: Arguments) -> tuple[int, bool]:
    """LIMIT and the direction; the largest come first."""
    limit: int | None = None
    is_ascending: bool | None = None
    while arguments:
        word = arguments.next_keyword()
        is_limit = word == b"LIMIT" and bool(arguments)
        if not is_limit and word not in (b"ASC", b"DESC"):
            raise ReplyError(errors.SYNTAX)
        if (limit if is_limit else is_ascending) is not None:
            raise ReplyError(b"ERR Multiple filters of the same type are disallowed.")
        if is_limit:
            error = b"ERR Limit has to lie in between 1 and 16384 (maximum number of slots)."
            limit = parse_int(arguments.next(), error, 1, SLOT_COUNT)
        else:
            is_ascending = word == b"ASC"
    return SLOT_COUNT if limit is None else limit, bool(is_ascending)


def _rows(client: Client, slots: range) -> list[tuple[int, Figures]]:
    """The slots among these that are this node's, or its primary's, with their figures."""
    mine = node_of(client).myself.leader.slots
    index = client.instance.databases[0].slots
    assert index is not None
    stats = client.instance.feature(SlotStats)
    return [(slot, stats.figures(slot, index.count(slot))) for slot in slots if mine >> slot & 1]


def _reply(client: Client, rows: list[tuple[int, Figures]]) -> bytes:
    names = list(map(replies.bulk, METRICS))
    return replies.array(
        [
            replies.array(
                [
                    replies.integer(slot),
                    replies.mapping(
                        [
                            part
                            for name, figure in zip(names, figures, strict=False)
                            for part in (name, replies.integer(figure))
                        ],
                        client.resp,
                    ),
                ]
            )
            for slot, figures in rows
        ]
    )
