"""Routing: whether this node serves a request, or where the client finds the one that does.

The keys of a request, or of all that EXEC is going to run, must be in one slot. A slot that moves
is served by both nodes for a while: by its owner for keys that are still there, by the other for
clients that were sent there with ASK. ASKING, READONLY and READWRITE say what a connection may ask
of a node that does not own a slot.

Source: Redis 7.0.15 and 8.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from commands.cluster.mode import ClusterMode, ClusterNode, Peer, node_of
from commands.core.client import Client
from commands.core.gates import GATE_MULTI
from commands.core.registry import ASKING, FAST, LOADING, STALE, WRITE, Command, command
from commands.transactions.transaction import Transaction
from protocol import errors, replies
from protocol.errors import RoutingError
from protocol.request import Request, key_slot, of_words

# Commands whose shard channels are routed as keys that are always there. Redis 8.2 treats those of
# SUNSUBSCRIBE as common keys: on a slot that moves away it is answered with ASK.
_SHARD_CHANNELS = {b"ssubscribe", b"spublish"}
# What scripts are told instead of an error.
_NOT_HERE = b"Script attempted to access a non local key in a cluster node"
# The slot of a script that has used none yet, and of one that may use any.
NO_SLOT, ANY_SLOT = -1, -2
_IN_SCRIPTS = {
    errors.SLOT_NOT_SERVED: b"Script attempted to access a slot not served",
    errors.CLUSTER_DOWN: b"Script attempted to execute a command while the cluster is down",
    errors.CLUSTER_READS_ONLY: (
        b"Script attempted to execute a write command while the cluster is down and readonly"
    ),
    errors.CROSS_SLOT: (
        b"Command '%s' in script attempted to access keys that don't hash to the same slot"
    ),
}


def refusal(
    client: Client, command: Command, request: Request, writes: bool
) -> RoutingError | None:
    """Why the request is not served here; None if it is. The client's ASKING is used up.

    `writes`: the request may write, or one of those that EXEC is going to run.
    """
    if client.replays:
        return None  # accepted where it comes from
    is_asking = client.has_asked = client.is_asking
    if is_asking and _ends_asking(client, command):
        client.is_asking = False
    found = list(_requests_with_keys(client, command, request))
    if not found:
        return None
    node = client.instance.feature(ClusterMode).node
    assert node is not None
    return _Check(client, node, found, writes, is_asking).refusal()


def refusal_of_waiting(client: Client, command: Command, argv: list[bytes]) -> RoutingError | None:
    """Why a client that waits here is not served here any more; None if it is.

    What ASKING allowed when it came is allowed until its slot is not imported any more.
    """
    client.is_asking = True
    return refusal(client, command, of_words(argv), bool(command.flags & WRITE))


def _ends_asking(client: Client, command: Command) -> bool:
    """ASKING is for the next request, or for a whole transaction."""
    if client.gates & GATE_MULTI:
        return command.fullname in (b"exec", b"discard")
    return command.fullname not in (b"asking", b"multi")


def _requests_with_keys(
    client: Client, command: Command, request: Request
) -> Iterator[tuple[Command, list[bytes]]]:
    """The command and keys of a request, or of each that EXEC is going to run."""
    if command.fullname == b"exec" and client.gates & GATE_MULTI:
        transaction = client.feature(Transaction)
        queue = zip(transaction.commands, transaction.requests, strict=True)
    else:
        queue = zip([command], [request], strict=True)
    for each, kept in queue:
        if each.keys:
            words = kept.words()
            if keys := [words[place] for place in each.key_positions(words)]:
                yield each, keys


class SlotUser(Protocol):
    """A script that runs: the slot of the keys that it has used, if it must keep to one."""

    client: Client
    slot: int


def refusal_in_script(
    client: Client, command: Command, argv: list[bytes], running: SlotUser
) -> bytes | None:
    """Why a script must not run a command: its keys are not here, or in another slot than those
    that the script has used. Source: Redis 8.2.
    """
    places = command.key_positions(argv)
    if not places:
        return None
    keys = [argv[place] for place in places]
    node = client.instance.feature(ClusterMode).node
    assert node is not None
    client.reads_replica = running.client.reads_replica
    writes, is_asking = bool(command.flags & WRITE), running.client.has_asked
    error = _Check(client, node, [(command, keys)], writes, is_asking).refusal()
    if error is not None:
        text = _IN_SCRIPTS.get(error.text, _NOT_HERE)
        return b"ERR " + text.replace(b"%s", command.fullname)
    slot = key_slot(keys[0])
    if running.slot == NO_SLOT:
        running.slot = slot
    if running.slot not in (ANY_SLOT, slot):
        return b"ERR Script attempted to access keys that do not hash to the same slot"
    return None


class _Check:
    """One request: its keys, in the order of the request, and the slot of the first."""

    def __init__(
        self,
        client: Client,
        node: ClusterNode,
        found: list[tuple[Command, list[bytes]]],
        writes: bool,
        is_asking: bool,
    ) -> None:
        self._client, self._node = client, node
        self._config = client.instance.config
        self._keys = [key for _, keys in found for key in keys]
        self._names = {command.fullname for command, _ in found}
        self._writes = writes
        self._is_sharded = bool(self._names & _SHARD_CHANNELS)
        self._is_asking = is_asking or any(command.flags & ASKING for command, _ in found)
        self._slot = key_slot(self._keys[0])

    def refusal(self) -> RoutingError | None:
        node, slot = self._node, self._slot
        owner = node.slot_owner(slot)
        if owner is None:
            return RoutingError(errors.SLOT_NOT_SERVED)
        if any(key_slot(key) != slot for key in self._keys):
            return RoutingError(errors.CROSS_SLOT)
        if not node.is_ok and (text := self._refusal_while_down()):
            return RoutingError(text)
        target, source = node.migrating_to(slot), node.importing_from(slot)
        if b"migrate" in self._names and (target is not None or source is not None):
            return None
        if owner is node.myself:
            return self._refusal_of_migrating(target) if target is not None else None
        if source is not None and self._is_asking:
            is_torn = not self._is_sharded and len(set(self._keys)) > 1 and self._missing()
            return RoutingError(errors.TRY_AGAIN) if is_torn else None
        is_read = not self._writes and (self._client.reads_replica or self._is_sharded)
        if is_read and owner is node.myself.leader:
            return None
        return self._redirection(b"MOVED", owner)

    def _refusal_while_down(self) -> bytes:
        """The error while slots are not covered, or this node is in a minority; "" for none."""
        if self._is_sharded:
            is_served = self._config.cluster_allow_pubsubshard_when_down
            return b"" if is_served else errors.CLUSTER_DOWN
        if not self._config.cluster_allow_reads_when_down:
            return errors.CLUSTER_DOWN
        return errors.CLUSTER_READS_ONLY if self._writes else b""

    def _refusal_of_migrating(self, target: Peer) -> RoutingError | None:
        """A slot that moves away: keys that are not here any more are asked for at the target."""
        missing = 0 if self._is_sharded else self._missing()
        if not missing:
            return None
        if missing < len(self._keys):
            return RoutingError(errors.TRY_AGAIN)
        return self._redirection(b"ASK", target)

    def _missing(self) -> int:
        """The number of keys that are not here."""
        db = self._client.db
        return sum(key not in db for key in self._keys)

    def _redirection(self, kind: bytes, to: Peer) -> RoutingError:
        endpoint = endpoint_of(to, self._config.cluster_preferred_endpoint_type)
        port = self._node.client_port(to, self._client.connection.is_encrypted())
        return errors.redirection(kind, self._slot, endpoint or "", port)


def endpoint_of(node: Peer, preferred: str) -> str | None:
    """How clients are told to reach a node; None where they keep to the host that they used."""
    if preferred == "ip":
        return node.ip
    if preferred == "hostname":
        return node.hostname or "?"
    return None


@command("ASKING", arity=1, flags=FAST)
def asking(client: Client, argv: Request) -> bytes:
    """Have the next request served from a slot that is being imported. Source: Redis 7.0."""
    node_of(client)
    client.is_asking = True
    return replies.OK


@command("READONLY", arity=1, flags=FAST | LOADING | STALE)
def readonly(client: Client, argv: Request) -> bytes:
    """Have reads served by this replica of their slot's owner. Source: Redis 7.0."""
    node_of(client)
    client.reads_replica = True
    return replies.OK


@command("READWRITE", arity=1, flags=FAST | LOADING | STALE)
def readwrite(client: Client, argv: Request) -> bytes:
    """Have all requests sent to the owners of their slots again. Source: Redis 7.0."""
    node_of(client)
    client.reads_replica = False
    return replies.OK
