"""CLIENT LIST and CLIENT INFO: the state of connections, one line for each.

The fields and their order are those of Redis 8.10. `rbs`, `rbp` and `obl` belong to a fixed reply
buffer that Redis gives each client and Rillway does not have, `omem-shared` and
`omem-unshared` to replies that refer to values: they are 0, and so is `io-thread`, the main thread.
What the other sizes count is in commands/connection/client_memory.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from commands.config.redaction import HIDDEN
from commands.connection.client_attributes import Library
from commands.connection.client_memory import (
    ClientMemory,
    output_bytes,
    words_bytes,
)
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

# The fields that are text; the others are numbers.
_TEXTS = frozenset(
    ("addr", "laddr", "name", "flags", "events", "cmd", "user", "lib-name", "lib-ver")
)
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
    return replies.verbatim(_describe(client, client, argv), client.resp)


@command("CLIENT LIST", arity=-2, flags=ADMIN | NOSCRIPT | LOADING | STALE)
def client_list(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.4. TYPE and ID do not go together, whatever its documentation says."""
    clients = _selected(client, argv)
    lines = b"".join(_describe(listed, client, argv) for listed in clients)
    return replies.verbatim(lines, client.resp)


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
    return _describe(client, client, ()).rstrip()


def logged_client(client: Client) -> str:
    """A client's line for the server's log, which may hide the names in it."""
    fields = _fields(client, client, ())
    if client.instance.config.hide_user_data_from_log:
        fields |= dict.fromkeys(_CHOSEN_BY_USERS, HIDDEN.encode())
    return _line(fields).decode("utf-8", "backslashreplace")


def _describe(client: Client, caller: Client, argv: Iterable[bytes]) -> bytes:
    """A client's line. `argv` is the caller's own request."""
    return _line(_fields(client, caller, argv)) + b"\n"


def _fields(client: Client, caller: Client, argv: Iterable[bytes]) -> dict[str, bytes | int]:
    """The fields of a client's line, in their order."""
    monotonic_ms, pubsub = client.instance.monotonic_ms, client.instance.feature(PubSub)
    state, transaction = _tracking(client), client.feature_if_used(Transaction)
    watched, library = client.feature_if_used(WatchedKeys), client.feature_if_used(Library)
    memory, unsent_bytes = client.instance.feature(ClientMemory), output_bytes(client)
    own = argv if client is caller else ()  # the request that runs
    return {
        "id": client.id,
        "addr": client.address,
        "laddr": client.connection.local_address,
        "fd": client.connection.fd,
        "name": client.name,
        "age": (monotonic_ms - client.created_ms) // 1000,
        "idle": (monotonic_ms - client.last_interaction_ms) // 1000,
        "flags": _flags(client),
        "db": client.db.index,
        "sub": pubsub.channels.count_of(client),
        "psub": pubsub.patterns.count_of(client),
        "ssub": pubsub.shard_channels.count_of(client),
        "multi": -1 if transaction is None else len(transaction.requests),
        "watch": 0 if watched is None else len(watched.expired),
        "qbuf": client.query_buffer_bytes,
        "qbuf-free": 0,
        "argv-mem": sum(map(len, (*own, *memory.waiting_request(client)))),
        "multi-mem": client.queued_bytes,
        "rbs": 0,
        "rbp": 0,
        "obl": 0,
        "oll": len(client.output),
        "omem": unsent_bytes,
        "omem-shared": 0,
        "omem-unshared": 0,
        "tot-mem": memory.bytes_of(client) + words_bytes(own),
        "events": b"rw" if unsent_bytes else b"r",
        "cmd": client.last_command or b"NULL",
        "user": b"(superuser)" if client.gates & GATE_PRIMARY else client.user,
        "redir": -1 if state is None else state.redirect_id,
        "resp": client.resp,
        "lib-name": library.name if library is not None else b"",
        "lib-ver": library.version if library is not None else b"",
        "io-thread": 0,
        "tot-net-in": client.net_input_bytes,
        "tot-net-out": client.net_output_bytes,
        "tot-cmds": client.commands,
        "read-events": client.reads,
        "avg-pipeline-len-sum": client.batched_requests,
        "avg-pipeline-len-cnt": client.batches,
    }


def _line(fields: dict[str, bytes | int]) -> bytes:
    return _form(tuple(fields)) % tuple(fields.values())


@cache
def _form(names: tuple[str, ...]) -> bytes:
    """The format of a line with these fields: a list of thousands of clients has as many."""
    return b" ".join(b"%b=%%%b" % (n.encode(), b"b" if n in _TEXTS else b"d") for n in names)


def _tracking(client: Client) -> TrackingState | None:
    return client.instance.feature(TrackingTable).states.get(client)


def _flags(client: Client) -> bytes:
    """A letter for every mode, N for none."""
    state, watched = _tracking(client), client.feature_if_used(WatchedKeys)
    letters = [
        (b"S", client.gates & GATE_REPLICA),
        (b"O", client.gates & GATE_MONITOR),
        (b"M", client.gates & GATE_PRIMARY),
        (b"P", is_subscribed(client)),
        (b"x", client.feature_if_used(Transaction) is not None),
        (b"b", client.is_blocked or client.postponed is not None),
        (b"t", state is not None),
        (b"R", state is not None and state.broken),
        (b"B", state is not None and state.bcast),
        (b"d", watched is not None and watched.has_changed),
        (b"c", client.close_after_reply),
        (b"U", client.connection.unix_socket),
        (b"e", client.no_evict),
        (b"T", client.no_touch),
    ]
    return b"".join(letter for letter, is_set in letters if is_set) or b"N"
