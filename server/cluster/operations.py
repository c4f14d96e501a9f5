"""The CLUSTER commands that change the cluster.

Methods take the words of the command, and raise ReplyError with Redis's texts. The result is in
`state` and in the actions of the next step. It is synced to disk before the command is answered;
Redis does not sync marks of moving slots.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import ip_address

from protocol.errors import NOT_AN_INTEGER, ReplyError
from protocol.request import SLOT_COUNT
from server.cluster.failover import Failover
from server.cluster.gossip import Gossip
from server.cluster.nodes import HANDSHAKE, MEET, Node, each_slot, range_of_slots
from server.cluster.outbox import Outbox
from server.cluster.state import BAN_MS, ClusterState
from storage.types.value import as_int64

BUS_PORT_OFFSET = 10_000
MAX_PORT = 65_535


class Operations:
    """The changing CLUSTER commands, one method for each."""

    def __init__(
        self, state: ClusterState, gossip: Gossip, failover: Failover, outbox: Outbox
    ) -> None:
        self._state = state
        self._gossip = gossip
        self._failover = failover
        self._outbox = outbox

    # -- nodes ---------------------------------------------------------------------------------

    def meet(self, ip: bytes, port: bytes, bus_port: bytes | None, monotonic_ms: int) -> None:
        """CLUSTER MEET: begin a handshake, unless one with that address is under way."""
        base = as_int64(port)
        if base is None:
            raise ReplyError(b"ERR Invalid base port specified: %b" % port)
        bus = base + BUS_PORT_OFFSET if bus_port is None else as_int64(bus_port)
        if bus is None:
            raise ReplyError(b"ERR Invalid bus port specified: %b" % (bus_port or b""))
        try:
            address = str(ip_address(ip.decode("latin-1")))
        except ValueError:
            address = ""
        if not (address and 0 < base <= MAX_PORT and 0 < bus <= MAX_PORT):
            raise ReplyError(b"ERR Invalid node address specified: %b:%b" % (ip, port))
        self._gossip.start_handshake(address, base, bus, HANDSHAKE | MEET, monotonic_ms)

    def forget(self, node_id: bytes, monotonic_ms: int) -> None:
        """CLUSTER FORGET: remove a node, and refuse for a minute to learn of it from others."""
        state = self._state
        node = state.find(node_id.decode("latin-1"))
        if node is None:
            if state.is_banned(node_id.decode("latin-1"), monotonic_ms):
                return
            raise _unknown(node_id)
        if node is state.myself:
            raise ReplyError(b"ERR I tried hard but I can't forget myself...")
        if node is state.myself.primary:
            raise ReplyError(b"ERR Can't forget my master!")
        state.bans[node.id] = monotonic_ms + BAN_MS
        state.delete(node)
        state.changed(is_promise=True)

    def replicate(self, node_id: bytes) -> None:
        """CLUSTER REPLICATE: become a replica of that primary."""
        state, me = self._state, self._state.myself
        primary = self.known(node_id)
        if primary is me:
            raise ReplyError(b"ERR Can't replicate myself")
        if primary.is_replica:
            raise ReplyError(b"ERR I can only replicate a master, not a replica.")
        if me.is_primary and (me.slots or state.data.has_keys()):
            raise ReplyError(
                b"ERR To set a master the node must be empty and without assigned slots."
            )
        if me.primary is not primary:
            self._failover.follow(primary)
            state.changed(is_promise=True)

    def count_failure_reports(self, node_id: bytes, monotonic_ms: int) -> int:
        """CLUSTER COUNT-FAILURE-REPORTS: how many primaries report that node as failed."""
        return self.known(node_id).reports_at(
            monotonic_ms, 2 * self._state.settings.node_timeout_ms
        )

    def reset(self, is_hard: bool) -> None:
        """CLUSTER RESET: forget the cluster. A replica loses its keys; HARD gives it a new ID."""
        state, me = self._state, self._state.myself
        if me.is_primary and state.data.has_keys():
            raise ReplyError(b"ERR CLUSTER RESET can't be called with master nodes containing keys")
        self._failover.leave_cluster()
        state.set_owner(state.assigned(), None)
        for node in [node for node in state.nodes.values() if node is not me]:
            state.delete(node)
        state.bans.clear()
        if is_hard:
            state.current_epoch = state.last_vote_epoch = me.config_epoch = 0
            me.shard_id = state.random_id()
            state.rename(me, state.random_id())
        state.changed(is_promise=True)

    # -- slots ---------------------------------------------------------------------------------

    def add_slots(self, words: list[bytes]) -> None:
        """CLUSTER ADDSLOTS: all or none."""
        self._take(self._checked(_single(words), must_be_free=True))

    def add_slots_range(self, words: list[bytes]) -> None:
        """CLUSTER ADDSLOTSRANGE: an even number of words."""
        self._take(self._checked(_ranges(words), must_be_free=True))

    def del_slots(self, words: list[bytes]) -> None:
        """CLUSTER DELSLOTS: leaves the slots without owner, whoever it was."""
        self._drop(self._checked(_single(words), must_be_free=False))

    def del_slots_range(self, words: list[bytes]) -> None:
        """CLUSTER DELSLOTSRANGE."""
        self._drop(self._checked(_ranges(words), must_be_free=False))

    def flush_slots(self) -> None:
        """CLUSTER FLUSHSLOTS: drop all slots of this node."""
        if self._state.data.has_keys():
            raise ReplyError(b"ERR DB must be empty to perform CLUSTER FLUSHSLOTS.")
        self._drop(self._state.myself.slots)

    def _checked(self, ranges: Iterable[tuple[int, int]], must_be_free: bool) -> int:
        """The set of the slots of ranges, all of which are free, or all of which are taken."""
        owners, chosen = self._state.owners, 0
        for first, last in ranges:
            for slot in range(first, last + 1):
                if (owners[slot] is None) != must_be_free:
                    state = b"busy" if must_be_free else b"unassigned"
                    raise ReplyError(b"ERR Slot %d is already %b" % (slot, state))
                if chosen >> slot & 1:
                    raise ReplyError(b"ERR Slot %d specified multiple times" % slot)
            chosen |= range_of_slots(first, last)
        return chosen

    def _take(self, slots: int) -> None:
        state = self._state
        state.set_owner(slots, state.myself)
        for slot in [slot for slot in state.importing if slots >> slot & 1]:
            del state.importing[slot]
        state.changed(is_promise=True)

    def _drop(self, slots: int) -> None:
        self._state.set_owner(slots, None)
        self._state.changed(is_promise=True)

    def note_loaded(self, slots: int) -> None:
        """After loading: a primary takes slots of which it has keys, and that no node owns.

        Slots of others, of which it has keys, count as importing until an operator fixes that.
        """
        state = self._state
        if state.myself.is_replica:
            return
        taken = slots & ~state.assigned()
        state.set_owner(taken, state.myself)
        for slot in each_slot(slots & ~state.myself.slots):
            owner = state.owners[slot]
            if owner is not None and slot not in state.importing:
                state.importing[slot] = owner
        state.changed(is_promise=True)

    # -- moving a slot -------------------------------------------------------------------------

    def set_slot_migrating(self, word: bytes, node_id: bytes) -> None:
        """CLUSTER SETSLOT slot MIGRATING node: missing keys are asked for there."""
        slot = self._slot_of_primary(word)
        if self._state.owners[slot] is not self._state.myself:
            raise ReplyError(b"ERR I'm not the owner of hash slot %d" % slot)
        self._state.migrating[slot] = self._other_primary(node_id)
        self._state.changed(is_promise=True)

    def set_slot_importing(self, word: bytes, node_id: bytes) -> None:
        """CLUSTER SETSLOT slot IMPORTING node: clients that ASK has redirected here are served."""
        slot = self._slot_of_primary(word)
        if self._state.owners[slot] is self._state.myself:
            raise ReplyError(b"ERR I'm already the owner of hash slot %d" % slot)
        self._state.importing[slot] = self._other_primary(node_id)
        self._state.changed(is_promise=True)

    def set_slot_stable(self, word: bytes) -> None:
        """CLUSTER SETSLOT slot STABLE: remove both marks."""
        slot = self._slot_of_primary(word)
        self._state.migrating.pop(slot, None)
        self._state.importing.pop(slot, None)
        self._state.changed(is_promise=True)

    def set_slot_node(self, word: bytes, node_id: bytes) -> None:
        """CLUSTER SETSLOT slot NODE node: give a slot to a node, the end of a move.

        The receiver takes the highest epoch, so that all others believe its claim.
        """
        state, me = self._state, self._state.myself
        slot = self._slot_of_primary(word)
        node = self.known(node_id)
        if node.is_replica:
            raise ReplyError(b"ERR Target node is not a master")
        was_mine = state.owners[slot] is me
        keys = state.data.keys_in_slot(slot)
        if was_mine and node is not me and keys:
            raise ReplyError(
                b"ERR Can't assign hashslot %d to a different node while I still hold keys for"
                b" this hash slot." % slot
            )
        if not keys:
            state.migrating.pop(slot, None)
        state.set_owner(1 << slot, node)
        if was_mine and not me.slots and state.settings.allow_replica_migration:
            self._failover.follow(node)
        if node is me and slot in state.importing:
            state.bump_epoch()
            del state.importing[slot]
            state.must_announce = True
        state.changed(is_promise=True)

    def _slot_of_primary(self, word: bytes) -> int:
        if self._state.myself.is_replica:
            raise ReplyError(b"ERR Please use SETSLOT only with masters.")
        return _slot(word)

    def check_set_slot(self, word: bytes) -> None:
        """Check the role and the slot for CLUSTER SETSLOT, before its action."""
        self._slot_of_primary(word)

    def _other_primary(self, node_id: bytes) -> Node:
        node = self._state.find(node_id.decode("latin-1"))
        if node is None:
            raise ReplyError(b"ERR I don't know about node %b" % node_id)
        if node.is_replica:
            raise ReplyError(b"ERR Target node is not a master")
        return node

    # -- epochs and failover -------------------------------------------------------------------

    def bump_epoch(self) -> tuple[bool, int]:
        """CLUSTER BUMPEPOCH: whether the epoch has changed, and what it is."""
        has_changed = self._state.bump_epoch()
        return has_changed, self._state.myself.config_epoch

    def set_config_epoch(self, word: bytes) -> None:
        """CLUSTER SET-CONFIG-EPOCH: the first epoch of a node that knows no other."""
        state, epoch = self._state, as_int64(word)
        if epoch is None:
            raise ReplyError(NOT_AN_INTEGER)
        if epoch < 0:
            raise ReplyError(b"ERR Invalid config epoch specified: %d" % epoch)
        if len(state.nodes) > 1:
            raise ReplyError(
                b"ERR The user can assign a config epoch only when the node does not know any"
                b" other node."
            )
        if state.myself.config_epoch:
            raise ReplyError(b"ERR Node config epoch is already non-zero")
        state.myself.config_epoch = epoch
        state.current_epoch = max(state.current_epoch, epoch)
        state.changed(is_promise=True)

    def fail_over(self, mode: bytes, monotonic_ms: int) -> None:
        """CLUSTER FAILOVER: `mode` is b"", b"FORCE" or b"TAKEOVER"."""
        self._failover.begin_manual(mode, monotonic_ms)

    def hand_over(self) -> bool:
        """SHUTDOWN FAILOVER: ask a replica to begin a manual failover. False if there is none."""
        return self._failover.ask_to_take_over()

    # -- others --------------------------------------------------------------------------------

    def publish(self, channel: bytes, payload: bytes, is_sharded: bool) -> None:
        """PUBLISH goes to all nodes, SPUBLISH to those of this shard."""
        self._outbox.publish(channel, payload, is_sharded)

    def save_config(self) -> None:
        """CLUSTER SAVECONFIG."""
        self._state.save(is_promise=True)

    def known(self, node_id: bytes) -> Node:
        """The node with that ID. Raises ReplyError."""
        node = self._state.find(node_id.decode("latin-1"))
        if node is None:
            raise _unknown(node_id)
        return node


def _unknown(node_id: bytes) -> ReplyError:
    return ReplyError(b"ERR Unknown node %b" % node_id)


def _slot(word: bytes) -> int:
    slot = as_int64(word)
    if slot is None or not 0 <= slot < SLOT_COUNT:
        raise ReplyError(b"ERR Invalid or out of range slot")
    return slot


def _single(words: list[bytes]) -> list[tuple[int, int]]:
    """Each slot as a range: all words are parsed before any slot is checked."""
    slots = [_slot(word) for word in words]
    return list(zip(slots, slots, strict=True))


def _ranges(words: list[bytes]) -> Iterator[tuple[int, int]]:
    """The ranges of an even number of words, each parsed once those before it were checked."""
    for first_word, last_word in zip(words[::2], words[1::2], strict=True):
        first, last = _slot(first_word), _slot(last_word)
        if first > last:
            raise ReplyError(
                b"ERR start slot number %d is greater than end slot number %d" % (first, last)
            )
        yield first, last
