"""MIGRATE: keys move to another server, and are deleted here once they are there.

Unlike in Redis, which serves no client meanwhile, only writes to these keys and the calling client
wait (`MovingKeys`). So MIGRATE cannot run in a transaction or a script. A request that may write
any key waits as well: a script, whatever keys it declares, and FLUSHALL, FLUSHDB and SWAPDB, which
name none. Databases are not distinguished.

Source: Redis 7.0 and 8.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from commands.core.arguments import Arguments, parse_int
from commands.core.blocked_clients import Block
from commands.core.client import Client
from commands.core.instance import Instance
from commands.core.registry import MOVABLE_KEYS, WRITE, Command, KeySpec, command
from commands.core.services import MigrationOrder, Services
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.types.value import as_int64

_SCRIPTS = {b"eval", b"evalsha", b"fcall"}


class MovingKeys:
    """A feature of the instance. `names`: the keys; GATE_MIGRATING is shut while there are any."""

    def __init__(self, instance: Instance) -> None:
        self.names: set[bytes] = set()

    def may_be_written(self, writes: Iterable[tuple[Command, Request]]) -> bool:
        """Return True if any of these requests may write one of the keys.

        `writes`: those that may write, or replicate, anything.
        """
        return any(self._may_be_written(command, request) for command, request in writes)

    def _may_be_written(self, command: Command, request: Request) -> bool:
        if command.fullname in _SCRIPTS:
            return True
        if not command.flags & WRITE:
            return False  # PUBLISH
        if not command.keys:
            return True
        words = request.words()
        return any(words[place] in self.names for place in command.key_positions(words))


_NO_KEY = replies.simple(b"NOKEY")
_DEFAULT_TIMEOUT_MS = 1000
_MAX_PORT = 65_535
_FLAGS = (b"RW", b"ACCESS", b"DELETE")


def _single_key(argv: Sequence[bytes]) -> list[int]:
    return [3] if len(argv) > 3 and argv[3] else []


@command(
    "MIGRATE",
    arity=-6,
    flags=WRITE | MOVABLE_KEYS,
    keys=(
        KeySpec(begin=3, flags=_FLAGS, find=_single_key),
        KeySpec(begin=-2, keyword=b"KEYS", last=-1, flags=(*_FLAGS, b"INCOMPLETE")),
    ),
)
def migrate(client: Client, argv: Request) -> bytes | Block:
    """OK; NOKEY if none of the keys is there. Errors: IOERR, and those of the other server."""
    order = _parse(argv)
    order.keys = [key for key in order.keys if client.lookup(key) is not None]
    if not order.keys:
        return _NO_KEY
    if client.deny_blocking:
        raise ReplyError(errors.MIGRATE_NOT_HERE)
    client.propagate_nothing()
    block = Block([], 0, lambda client: None, None)
    client.instance.feature(Services).migration.start(client, block, order)
    return block


def _parse(argv: Request) -> MigrationOrder:
    order = MigrationOrder(argv[1].decode("latin-1"), 0, 0, 0, [argv[3]])
    arguments = Arguments(argv, 6)
    while arguments:
        option = arguments.next_keyword()
        if option == b"COPY":
            order.copies = True
        elif option == b"REPLACE":
            order.replaces = True
        elif option == b"AUTH" and arguments.remaining >= 1:
            order.credentials = (arguments.next(),)
        elif option == b"AUTH2" and arguments.remaining >= 2:
            order.credentials = (arguments.next(), arguments.next())
        elif option == b"KEYS":
            if argv[3]:
                raise ReplyError(errors.MIGRATE_KEYS)
            order.keys = [arguments.next() for _ in range(arguments.remaining)]
        else:
            raise ReplyError(errors.SYNTAX)
    order.timeout_ms, order.db = parse_int(argv[5]), parse_int(argv[4])
    if order.timeout_ms <= 0:
        order.timeout_ms = _DEFAULT_TIMEOUT_MS
    port = as_int64(argv[2])
    order.port = port if port is not None and 0 <= port <= _MAX_PORT else 0
    return order
