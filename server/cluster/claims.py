"""Roles, claims of slots, and epochs, as other nodes announce them.

A claim with a higher epoch wins. Epochs of primaries are distinct: an election uses one that a
majority granted, and if two primaries have the same one, one of them takes another.
"""

from __future__ import annotations

from server.cluster.events import DeleteKeysInSlots
from server.cluster.failover import Failover
from server.cluster.messages import Message
from server.cluster.nodes import ALL_SLOTS, Node, each_slot
from server.cluster.outbox import Outbox
from server.cluster.state import ClusterState


class Claims:
    """Applies what a message states about its sender, and what UPDATE states about another."""

    def __init__(self, state: ClusterState, outbox: Outbox, failover: Failover) -> None:
        self._state = state
        self._outbox = outbox
        self._failover = failover

    # -- roles ---------------------------------------------------------------------------------

    def take_role(self, sender: Node, message: Message, former_epoch: int) -> bool:
        """Note whether a sender is a primary, or whose replica it is.

        `former_epoch`: its epoch before this message. Returns False for a late message, from before
        the sender became a primary: it must be ignored.
        """
        state = self._state
        if not message.primary:
            if not sender.is_primary:
                state.make_primary(sender)
                state.changed()
            return True
        primary = state.find(message.primary)
        if sender.is_primary and not self._demote(sender, primary, message, former_epoch):
            return False
        if primary is not None and primary is not sender and sender.primary is not primary:
            state.make_replica(sender, primary)
            state.changed()
        self._flatten_chain()
        return True

    def _demote(
        self, sender: Node, primary: Node | None, message: Message, former_epoch: int
    ) -> bool:
        """A primary has become a replica. In one shard the other has taken its slots."""
        state = self._state
        is_failover = primary is not None and primary.shard_id == sender.shard_id
        if is_failover and sender.slots and message.config_epoch < former_epoch:
            return False
        slots = sender.slots
        if is_failover and primary is not None and primary is not state.myself:
            state.make_primary(primary)
            primary.config_epoch = max(primary.config_epoch, message.config_epoch)
            state.set_owner(slots, primary)
        else:
            state.set_owner(slots, None)
        state.demote(sender)
        state.changed()
        return True

    def _flatten_chain(self) -> None:
        """A replica of a replica follows the primary."""
        me = self._state.myself
        primary = me.primary.primary if me.primary is not None else None
        if primary is not None and primary is not me and primary.is_primary:
            self._failover.follow(primary)
            self._state.changed()

    # -- slots ---------------------------------------------------------------------------------

    def take_slots(self, sender: Node, message: Message) -> None:
        """Compare the slots that a sender claims with those that it is known to own."""
        leader = sender.leader
        if message.slots == leader.slots and not leader.slots & self._state.unclaimed:
            return
        if sender.is_primary:
            self.apply(sender, message.config_epoch, message.slots)
        self._correct(sender, message)

    def _correct(self, sender: Node, message: Message) -> None:
        """Send UPDATE to a node that claims what another owns by a higher epoch."""
        contested = message.slots & ~sender.slots & ~self._state.unclaimed
        for owner in self._state.nodes.values():
            if owner.slots & contested and owner.config_epoch > message.config_epoch:
                self._outbox.update(sender.link, owner)
                return

    def apply(self, owner: Node, epoch: int, slots: int) -> None:
        """Give a node the slots that it claims, unless another node has them by a higher epoch."""
        state, me = self._state, self._state.myself
        if owner is me:
            return
        state.unclaimed = state.unclaimed & ~(owner.slots & slots) | owner.slots & ~slots
        importing = sum(1 << slot for slot in state.importing)
        contested = slots & ~owner.slots & ~importing
        taken = contested & (state.unclaimed | ALL_SLOTS & ~state.assigned())
        for holder in state.nodes.values():
            if holder.slots & contested and holder.config_epoch < epoch:
                taken |= holder.slots & contested
        if taken:
            self._hand_over(taken, owner, slots)

    def _hand_over(self, taken: int, owner: Node, claimed: int) -> None:
        """Note that a node has taken slots, perhaps from this one or from its primary."""
        state, me, leader = self._state, self._state.myself, self._state.myself.leader
        lost = me.slots & taken
        from_shard = leader.slots & taken
        with_keys = sum(1 << slot for slot in each_slot(lost) if state.data.keys_in_slot(slot))
        state.set_owner(taken, owner)
        for slot in [slot for slot in state.migrating if lost >> slot & 1]:
            del state.migrating[slot]
        state.changed(is_promise=True)
        may_follow = state.settings.allow_replica_migration or from_shard == claimed
        if from_shard and not leader.slots and may_follow:
            self._failover.follow(owner)
        elif with_keys:
            count = with_keys.bit_count()
            state.log(f"Deleting the keys of {count} slots that {owner.id} owns now.", True)
            state.do(DeleteKeysInSlots(with_keys))
        self._flatten_chain()

    def take_update(self, message: Message) -> None:
        """Handle UPDATE: another node knows a newer owner of slots that this one claims."""
        owner = self._state.find(message.subject)
        if owner is None or owner.config_epoch >= message.subject_epoch:
            return
        if owner is self._state.myself or owner.in_handshake:
            return
        self._state.make_primary(owner)
        owner.config_epoch = message.subject_epoch
        self._state.changed(is_promise=True)
        self.apply(owner, message.subject_epoch, message.subject_slots)

    # -- epochs --------------------------------------------------------------------------------

    def take_epochs(self, sender: Node, message: Message) -> None:
        """Adopt the highest epoch that was seen as the current one."""
        state = self._state
        if message.current_epoch > state.current_epoch:
            state.current_epoch = message.current_epoch
            state.save()
        if message.config_epoch > sender.config_epoch:
            sender.config_epoch = message.config_epoch
            state.save(is_promise=True)

    def resolve_collision(self, sender: Node, message: Message) -> None:
        """Take another epoch if this node has the smaller ID of two primaries with the same one."""
        state, me = self._state, self._state.myself
        if not (me.is_primary and sender.is_primary and message.config_epoch == me.config_epoch):
            return
        if me.id < sender.id:
            state.current_epoch += 1
            me.config_epoch = state.current_epoch
            state.save(is_promise=True)
            state.log(f"configEpoch collision with node {sender.id}: now {me.config_epoch}", True)
