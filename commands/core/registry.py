"""The table of commands: each is declared once, where it is written, with `@command(...)`.

What the code needs is declared here; what people read is a row of commands/documentation.json.
COMMAND, COMMAND DOCS, COMMAND GETKEYS, the ACL categories, arity errors and the table in the
documentation all derive from the two. A sub-command is declared under its two words ("XGROUP
CREATE"), which declares its container ("XGROUP"), too.

To add a command: write its function in the module of its noun, decorate it, and give it a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import cython

from commands.core.blocked_clients import Block
from commands.core.client import Client
from commands.core.instance import Instance
from commands.core.long_reply import LongReply
from protocol.errors import ReplyError
from protocol.records import frozen_record
from protocol.request import Request
from protocol.requests import Argv
from storage.append_only.requests import UnknownCarrier, unwrap, wrap
from storage.types.value import as_int64

# None: the handler sent what there was to send.
Reply: TypeAlias = bytes | Block | LongReply | None
Handler: TypeAlias = Callable[[Client, Request], Reply]

# -- flags, in the order in which COMMAND INFO prints them; those without a name are not shown ----

WRITE = 1 << 0
READONLY = 1 << 1
DENYOOM = 1 << 2
ADMIN = 1 << 4
PUBSUB = 1 << 5
NOSCRIPT = 1 << 6
BLOCKING = 1 << 8
LOADING = 1 << 9
STALE = 1 << 10
SKIP_MONITOR = 1 << 11
SKIP_SLOWLOG = 1 << 12
ASKING = 1 << 13
FAST = 1 << 14
NO_AUTH = 1 << 15
MAY_REPLICATE = 1 << 16
NO_ASYNC_LOADING = 1 << 18
NO_MULTI = 1 << 19
ALLOW_BUSY = 1 << 20
MOVABLE_KEYS = 1 << 21
NO_MANDATORY_KEYS = 1 << 22
RUNS_LUA = 1 << 23  # for so long, perhaps, that it pauses for other clients
UNQUEUED = 1 << 24  # runs at once between MULTI and EXEC

FLAG_NAMES = {
    WRITE: b"write",
    READONLY: b"readonly",
    DENYOOM: b"denyoom",
    ADMIN: b"admin",
    PUBSUB: b"pubsub",
    NOSCRIPT: b"noscript",
    BLOCKING: b"blocking",
    LOADING: b"loading",
    STALE: b"stale",
    SKIP_MONITOR: b"skip_monitor",
    SKIP_SLOWLOG: b"skip_slowlog",
    ASKING: b"asking",
    FAST: b"fast",
    NO_AUTH: b"no_auth",
    NO_ASYNC_LOADING: b"no_async_loading",
    NO_MULTI: b"no_multi",
    ALLOW_BUSY: b"allow_busy",
    NO_MANDATORY_KEYS: b"no_mandatory_keys",
    MOVABLE_KEYS: b"movablekeys",
}


@frozen_record
class KeySpec:
    """Where a command's keys are: a key specification of Redis 7.

    The first key is at argument `begin` or, when `keyword` is given, after that word, searched from
    `begin`; if that is negative, backwards from that place before the end. `last` is relative to
    the first key; below zero it counts from the end of the arguments. With `limit` 2 only the first
    half of what remains are keys. `is_counted`: argument `begin` is the number of keys, and the
    keys follow it. `is_unknown`: the position depends on the arguments in another way. Where these
    fields do not cover every request, `find` computes the positions from the arguments; for
    arguments that it cannot parse, `keyword` still applies, as in Redis. Flag INCOMPLETE says so to
    clients. Where the flags depend on the arguments (flag VARIABLE_FLAGS), `vary` computes them.
    """

    begin: int = 1
    keyword: bytes = b""
    last: int = 0
    step: int = 1
    limit: int = 0
    flags: tuple[bytes, ...] = ()
    find: Callable[[Sequence[bytes]], list[int]] | None = None
    is_counted: bool = False
    is_unknown: bool = False
    vary: Callable[[Sequence[bytes]], tuple[bytes, ...]] | None = None

    @property
    def is_one_key(self) -> bool:
        """Whether it is argument 1, and no other."""
        at_one = self.begin == 1 and not self.last and not self.keyword and self.find is None
        return at_one and not (self.is_counted or self.is_unknown)

    def flags_in(self, argv: Sequence[bytes]) -> tuple[bytes, ...]:
        """The flags of the keys in `argv`. INCOMPLETE is not one: it is of the specification."""
        flags = self.flags if self.vary is None else self.vary(argv)
        return tuple([flag for flag in flags if flag != b"INCOMPLETE"])

    def positions(self, argv: Sequence[bytes]) -> list[int]:
        """Indexes of the keys in `argv`; empty if there are too few arguments."""
        found = [] if self.find is None else self.find(argv)
        if found or (self.find is not None and not self.keyword):
            return found
        if self.is_unknown:
            return []
        if self.is_counted:
            return _counted_positions(argv, self.begin, self.step)
        first = self.begin
        if self.keyword:
            count = len(argv)
            places = range(first, count) if first >= 0 else range(count + first, 0, -1)
            first = count
            for place in places:
                if argv[place].upper() == self.keyword:
                    first = place + 1
                    break
        last = first + self.last if self.last >= 0 else len(argv) + self.last
        if self.limit > 1:
            last = first + (len(argv) - first) // self.limit - 1
        if last >= len(argv):
            return []
        return list(range(first, last + 1, self.step))


def _counted_positions(argv: Sequence[bytes], at: int, step: int) -> list[int]:
    """The positions of the keys that follow their number at `at`, every `step`th argument."""
    number = as_int64(argv[at]) if at < len(argv) else None
    if number is None or not 0 < number * step < len(argv) - at:
        return []
    return list(range(at + 1, at + 1 + number * step, step))


NO_KEYS: tuple[KeySpec, ...] = ()
# More than any request has.
_MOST_WORDS = 1 << 62


def one_key(*flags: bytes, at: int = 1) -> tuple[KeySpec, ...]:
    """A single key; `flags` as COMMAND INFO prints them, e.g. b"RW", b"UPDATE"."""
    return (KeySpec(begin=at, flags=flags),)


def one_varying_key(
    vary: Callable[[Sequence[bytes]], tuple[bytes, ...]], *flags: bytes
) -> tuple[KeySpec, ...]:
    """A single key, whose flags depend on the arguments: `vary` has those of a request."""
    return (KeySpec(begin=1, flags=(*flags, b"VARIABLE_FLAGS"), vary=vary),)


def keys_to_end(*flags: bytes, at: int = 1, step: int = 1) -> tuple[KeySpec, ...]:
    """Keys from argument `at` to the last, every `step`th."""
    return (KeySpec(begin=at, last=-1, step=step, flags=flags),)


def counted_keys(*flags: bytes, at: int = 1, step: int = 1) -> tuple[KeySpec, ...]:
    """The number of keys at argument `at`, then the keys: `numkeys key [key ...]`."""
    return (KeySpec(begin=at, step=step, flags=flags, is_counted=True),)


def two_keys(source: tuple[bytes, ...], target: tuple[bytes, ...]) -> tuple[KeySpec, ...]:
    """A source at argument 1 and a target at argument 2, with flags of their own."""
    return (KeySpec(begin=1, flags=source), KeySpec(begin=2, flags=target))


@cython.cclass
class Command:
    """One declared command, sub-command or container of sub-commands."""

    __slots__ = (
        *("arity", "defers_ready_keys", "flags", "fullname", "handler", "has_one_key"),
        *("is_quick", "keys", "least_words", "most_words", "name", "parent", "subcommands"),
    )

    def __init__(
        self,
        *,
        name: bytes,
        fullname: bytes,
        handler: Handler | None,
        arity: int,
        flags: int,
        keys: tuple[KeySpec, ...],
        defers_ready_keys: bool = False,
        is_quick: bool = False,
    ) -> None:
        self.name = name  # upper case, without the container: b"XADD", b"CREATE"
        self.fullname = fullname  # lower case, with it: b"xadd", b"xgroup|create"
        self.handler = handler
        self.arity = arity
        self.flags = flags
        self.keys = keys
        self.defers_ready_keys = defers_ready_keys
        self.is_quick = is_quick
        self.parent: Command | None = None
        self.subcommands: dict[bytes, Command] = {}  # by lower-case name
        # How many words a request has, names included.
        self.least_words: int = abs(arity)
        # Whether the first word after the name is the only key, whatever the others are.
        self.has_one_key = len(keys) == 1 and keys[0].is_one_key
        self.most_words: int = arity if arity >= 0 else _MOST_WORDS

    def accepts(self, argument_count: int) -> bool:
        """Return True if `argument_count` words, names included, match the arity."""
        return self.least_words <= argument_count <= self.most_words

    def key_positions(self, argv: Sequence[bytes]) -> list[int]:
        """Indexes of the keys in a request of this command."""
        return [i for spec in self.keys for i in spec.positions(argv)]


# By lower-case name; containers included. A server's own names: commands/core/registry.py.
COMMANDS: dict[bytes, Command] = {}

# Requests that only carriers have, by name as it is written there: clients cannot send them.
CARRIED: dict[bytes, Command] = {}


def find(words: Request | list[bytes], by_name: Mapping[bytes, Command]) -> Command | None:
    """The command or sub-command of a request, in any spelling; None if there is none.

    A container alone is itself: its arity refuses it.
    """
    command = by_name.get(words[0].lower())
    if command is None or not command.subcommands or len(words) == 1:
        return command
    return command.subcommands.get(words[1].lower())


def _register(name: str, declared: Command) -> None:
    container, _, sub = name.lower().encode().partition(b" ")
    if not sub:
        assert container not in COMMANDS, f"{name} is declared twice"
        COMMANDS[container] = declared
        return
    parent = COMMANDS.setdefault(container, _container(container))
    assert sub not in parent.subcommands, f"{name} is declared twice"
    declared.parent = parent
    parent.subcommands[sub] = declared


def sort_commands() -> None:
    """Sort the commands, and the sub-commands of each, by name."""
    for table in [COMMANDS, *[command.subcommands for command in COMMANDS.values()]]:
        in_order = sorted(table.items())
        table.clear()
        table.update(in_order)


def _container(name: bytes) -> Command:
    """A command that has only sub-commands."""
    return Command(name=name.upper(), fullname=name, handler=None, arity=-2, flags=0, keys=NO_KEYS)


def command(
    name: str,
    *,
    arity: int,
    flags: int = 0,
    keys: tuple[KeySpec, ...] = NO_KEYS,
    defers_ready_keys: bool = False,
    is_quick: bool | None = None,
) -> Callable[[Handler], Handler]:
    """Declare the decorated function as the handler of `name`.

    `arity` counts the name's words and is negative for a minimum.
    `defers_ready_keys`: blocked clients need not be served before this command runs, because it
    removes none of the data that they wait for: several appends of one cycle make one reply.
    `is_quick`: a short request with a short reply takes a few microseconds. Up to 16 such requests
    share one reading of the clock (server/requests/command_clock.py). By default that is what Redis
    calls fast, if it is about keys.
    """
    if is_quick is None:
        is_quick = bool(keys and flags & FAST and flags & (READONLY | WRITE))

    def declare(handler: Handler) -> Handler:
        upper = name.upper().encode()
        declared = Command(
            name=upper.rpartition(b" ")[2],
            fullname=name.lower().replace(" ", "|").encode(),
            handler=handler,
            arity=arity,
            flags=flags,
            keys=keys,
            defers_ready_keys=defers_ready_keys,
            is_quick=is_quick,
        )
        _register(name, declared)
        return handler

    return declare


def carried_command(name: str, *, arity: int) -> Callable[[Handler], Handler]:
    """Declare the decorated function as the handler of a write that only carriers have.

    Its first argument is a key. The handler must call `changed` or `modified`, so that a replica's
    replicas get the carrier, too.
    """

    def declare(handler: Handler) -> Handler:
        CARRIED[name.encode()] = Command(
            name=name.encode(),
            fullname=name.lower().encode(),
            handler=handler,
            arity=arity,
            flags=WRITE,
            keys=one_key(b"RW", b"UPDATE"),
        )
        return handler

    return declare


class CommandTable:
    """The names of one server."""

    def __init__(self, instance: Instance) -> None:
        self.by_name = renamed(instance.config.renamed_commands)
        # The writes without sub-commands, in the spelling of files and of primaries.
        self.writes = {
            name.upper(): command
            for name, command in (COMMANDS | self.by_name).items()
            if command.flags & WRITE and not command.subcommands
        }

    def find(self, words: Request | list[bytes]) -> Command | None:
        """The command or sub-command of a client's request; None if there is none."""
        return find(words, self.by_name)

    def find_replayed(self, words: Request | list[bytes]) -> Command | None:
        """`find` for a request of the append-only file or of a primary."""
        return find(words, self.by_name) or find(words, COMMANDS)


def renamed(pairs: Iterable[tuple[str, str]]) -> dict[bytes, Command]:
    """The table after each `rename-command` in its turn; an empty name removes the command.

    Raises ValueError.
    """
    by_name = dict(COMMANDS)
    for pair in pairs:
        old, new = [name.lower().encode("utf-8", "surrogateescape") for name in pair]
        command = by_name.pop(old, None)
        if command is None:
            raise ValueError("No such command in rename-command")
        if new in by_name:
            raise ValueError("Target command name already exists")
        if new:
            by_name[new] = command
    return by_name


@cython.cclass
class Stopwatch:
    """When the last command ended (server/requests/command_clock.py)."""

    def __init__(self, mark_ns: int) -> None:
        self.mark_ns = mark_ns  # in ns of a monotonic clock


@cython.cclass
class Runner:
    """Runs commands, also for handlers, scripts and blocked clients (server/requests/dispatch.py).

    By this class compiled modules below the dispatcher call it in C.
    """

    def __init__(self, stopwatch: Stopwatch) -> None:
        self.stopwatch = stopwatch

    def account(
        self, client: Client, command: Command, request: Request, handler: Handler | None
    ) -> Reply:
        """Call a handler, with statistics and propagation; a long reply is returned as it is."""
        raise NotImplementedError

    def run(self, client: Client, command: Command, request: Request) -> Reply:
        """Run a command now, with statistics and propagation, and return its whole reply."""
        raise NotImplementedError

    def join(self, client: Client, command: Command, request: Request, reply: LongReply) -> bytes:
        """The whole of a long reply; if it fails, its error."""
        raise NotImplementedError

    def begin_long_reply(self, client: Client, reply: LongReply, argv: Argv, position: int) -> bool:
        """Send a reply to a request in pieces. True: it is complete already, and it had to be
        inserted at a position of the output."""
        raise NotImplementedError

    def run_held_back(
        self, client: Client, command: Command, request: Request, keeps: int
    ) -> Reply:
        """`run` that propagates only to the targets that redis.set_repl(`keeps`) selects."""
        raise NotImplementedError

    def run_queue(
        self, client: Client, queued: list[Command], requests: list[Request]
    ) -> bytes | LongReply:
        """The replies of the requests of a transaction, `queued` being their commands."""
        raise NotImplementedError

    def run_with_pauses(self, client: Client, argv: Argv, work: Callable[[], Reply]) -> Reply:
        """The reply of `work`, which may pause; a Block if it has."""
        raise NotImplementedError

    def pause_script(self) -> bool:
        """Suspend the script that runs, and let the event loop continue for a while.

        False if that is impossible: a file is replayed.
        """
        raise NotImplementedError

    def end_script(self) -> bool:
        """End a script that has paused, for a shutdown.

        False if it had written: none of that was propagated, and the data must not be saved.
        """
        raise NotImplementedError

    def serve_ready_keys(self) -> None:
        """Run the retries of the clients that wait for keys on the ready list."""
        raise NotImplementedError

    def end_waiting(self, client: Client, reply: bytes) -> None:
        """Answer a blocked client with `reply`, which counts as a call, and let it go on with its
        next request.
        """
        raise NotImplementedError


def propagate_carried(client: Client, *request: bytes) -> None:
    """`Client.propagate` for a request that no version of Redis knows."""
    if client.instance.propagation.sinks:
        client.propagate(*wrap(request))


def carried(client: Client, argv: Request) -> tuple[Command, Argv] | None:
    """The command that an ECHO carries; None for an ordinary ECHO.

    Raises ReplyError for a carried request that this version does not know.
    """
    try:
        request = unwrap(argv.words())
    except UnknownCarrier as error:
        raise ReplyError(b"ERR " + str(error).encode()) from None
    if request is None:
        return None
    command = CARRIED.get(request[0])
    if command is None:
        command = client.instance.feature(CommandTable).find_replayed(request)
    if command is None or not command.flags & WRITE or not command.accepts(len(request)):
        raise ReplyError(b"ERR Rillway's own state is unknown here: '%b'" % request[0][:128])
    return command, request
