"""CLIENT LIST and CLIENT INFO: the state of connections, one line for each.

The fields and their order are those of Redis 8.10. `rbs`, `rbp` and `obl` belong to a fixed reply
buffer that Redis gives each client and Rillway does not have, `omem-shared` and
`omem-unshared` to replies that refer to values: they are 0, and so is `io-thread`, the main thread.
What the other sizes count is in commands/connection/client_memory.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from commands.config.redaction import HIDDEN
from commands.connection.client_attributes import Library
from commands.connection.client_memory import ClientMemory, Modes
from commands.connection.invalidation_table import TrackingState, TrackingTable
from commands.core.arguments import parse_int
from commands.core.client import Client, Clients
from commands.core.gates import GATE_MONITOR, GATE_PRIMARY, GATE_REPLICA
from commands.core.registry import ADMIN, LOADING, NOSCRIPT, STALE, command
from commands.pubsub.registry import PubSub, is_subscribed
from commands.transactions.transaction import Transaction
from commands.transactions.watched_keys import WatchedKeys
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request

_TYPES = {
    b"NORMAL": b"normal", b"PUBSUB": b"pubsub", b"MASTER": b"master",
    b"REPLICA": b"replica", b"SLAVE": b"replica",
}  # fmt: skip

# The form of a line. Fields with a fixed number are the same for all clients.
_FORM = (
    b"id=%d addr=%b laddr=%b fd=%d name=%b age=%d idle=%d flags=%b db=%d sub=%d psub=%d ssub=%d"
    b" multi=%d watch=%d qbuf=%d qbuf-free=0 argv-mem=%d multi-mem=%d rbs=0 rbp=0 obl=0 oll=%d"
    b" omem=%d omem-shared=0 omem-unshared=0 tot-mem=%d events=%b cmd=%b user=%b redir=%d resp=%d"
    b" lib-name=%b lib-ver=%b io-thread=0 tot-net-in=%d tot-net-out=%d tot-cmds=%d read-events=%d"
    b" avg-pipeline-len-sum=%d avg-pipeline-len-cnt=%d"
)
_LINE = replies.Form(_FORM)
_ROLES = GATE_REPLICA | GATE_MONITOR | GATE_PRIMARY
# Of a client with none of what `_Viewer._modes_of` looks at.
_NO_MODES: Modes = (b"N", (0, 0, 0), -1, 0, -1, b"", b"")
_FIELDS = [name.decode() for name in re.findall(rb"([a-z-]+)=%", _FORM)]
_CHOSEN_BY_USERS = ("name", "user", "lib-name", "lib-ver")


def parse_client_type(word: bytes) -> bytes:
    """One of b"normal", b"pubsub", b"master", b"replica". Raises an error that repeats `word`."""
    name = _TYPES.get(word.upper())
    if name is None:
        raise errors.unknown_client_type(word)
    return name


def client_type(client: Client) -> bytes:
    """The client's type, as TYPE of CLIENT LIST and CLIENT KILL selects it."""
    if client.gates & GATE_PRIMARY:
        return b"master"
    if client.gates & GATE_REPLICA:
        return b"replica"
    return b"pubsub" if is_subscribed(client) else b"normal"


@command("CLIENT INFO", arity=2, flags=NOSCRIPT | LOADING | STALE)
def client_info(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.4."""
    return replies.verbatim(_Viewer(client, argv).line_of(client) + b"\n", client.resp)


@command("CLIENT LIST", arity=-2, flags=ADMIN | NOSCRIPT | LOADING | STALE)
def client_list(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.4. TYPE and ID do not go together, whatever its documentation says."""
    viewer = _Viewer(client, argv)
    lines = [viewer.line_of(listed) for listed in _selected(client, argv)]
    if lines:
        lines.append(b"")
    return replies.verbatim(b"\n".join(lines), client.resp)


def _selected(client: Client, argv: Request) -> list[Client]:
    clients = client.instance.feature(Clients).by_id
    option = argv[2].upper() if len(argv) > 2 else b""
    if not option:
        return list(clients.values())
    if option == b"TYPE" and len(argv) == 4:
        wanted = parse_client_type(argv[3])
        return [listed for listed in clients.values() if client_type(listed) == wanted]
    if option == b"ID" and len(argv) > 3:
        ids = [parse_int(word, errors.INVALID_CLIENT_ID) for word in argv[3:]]
        return [clients[client_id] for client_id in ids if client_id in clients]
    raise ReplyError(errors.SYNTAX)


def describe_client(client: Client) -> bytes:
    """A client's line without its end, for ACL LOG."""
    return _Viewer(client, ()).line_of(client)


def logged_client(client: Client) -> str:
    """A client's line for the server's log, which may hide the names in it."""
    values = _Viewer(client, ()).values_of(client)
    if client.instance.config.hide_user_data_from_log:
        hidden = HIDDEN.encode()
        pairs = zip(_FIELDS, values, strict=True)
        values = tuple(hidden if name in _CHOSEN_BY_USERS else value for name, value in pairs)
    return _LINE.fill(values).decode("utf-8", "backslashreplace")


class _Viewer:
    """The client that asks, and look-ups that all lines of a list share."""

    __slots__ = ("_caller", "_memory", "_monotonic_ms", "_own", "_pubsub", "_tracking")

    def __init__(self, caller: Client, argv: Iterable[bytes]) -> None:
        """`argv`: the caller's own request, which runs."""
        instance = caller.instance
        self._caller = caller
        self._own = tuple(argv)
        self._memory = instance.feature(ClientMemory)
        self._monotonic_ms = instance.monotonic_ms
        self._pubsub = instance.feature(PubSub)
        self._tracking = instance.feature(TrackingTable).states

    def line_of(self, client: Client) -> bytes:
        """A client's line, without its end."""
        return _LINE.fill(self.values_of(client))

    def values_of(self, client: Client) -> tuple[bytes | int, ...]:
        """The values of _FIELDS."""
        memory = self._memory
        own = self._own if client is self._caller else ()
        modes = _NO_MODES
        if client in self._tracking or not memory.is_plain(client):
            modes = self._modes_of(client)
        return memory.line_values(client, own, modes, self._monotonic_ms)

    def _modes_of(self, client: Client) -> Modes:
        """What few clients have."""
        state, transaction = self._tracking.get(client), client.feature_if_used(Transaction)
        watched, library = client.feature_if_used(WatchedKeys), client.feature_if_used(Library)
        return (
            _flags(client, state, watched, in_transaction=transaction is not None),
            self._pubsub.counts_of(client) if client.subscriptions else (0, 0, 0),
            -1 if transaction is None else len(transaction.requests),
            0 if watched is None else len(watched.expired),
            -1 if state is None else state.redirect_id,
            b"" if library is None else library.name,
            b"" if library is None else library.version,
        )


def _flags(
    client: Client,
    state: TrackingState | None,
    watched: WatchedKeys | None,
    *,
    in_transaction: bool,
) -> bytes:
    """A letter for every mode, N for none."""
    letters = b""
    if client.gates & _ROLES:
        roles = ((b"S", GATE_REPLICA), (b"O", GATE_MONITOR), (b"M", GATE_PRIMARY))
        letters += b"".join([letter for letter, gate in roles if client.gates & gate])
    if is_subscribed(client):
        letters += b"P"
    if in_transaction:
        letters += b"x"
    if client.is_blocked or client.postponed is not None:
        letters += b"b"
    if state is not None:
        letters += b"t" + (b"R" if state.broken else b"") + (b"B" if state.bcast else b"")
    if watched is not None and watched.has_changed:
        letters += b"d"
    if client.close_after_reply:
        letters += b"c"
    if client.connection.unix_socket:
        letters += b"U"
    if client.no_evict:
        letters += b"e"
    return (letters + b"T" if client.no_touch else letters) or b"N"
