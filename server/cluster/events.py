"""The events of the cluster core, and the actions that it returns.

The core has no I/O: `Cluster.step(event, monotonic_ms)` returns actions, which the I/O layer
carries out in their order. `Save` precedes the actions that depend on it: the file is written
and synced before the next action is carried out.
"""

from __future__ import annotations

from protocol.records import entity, frozen_record
from server.cluster.messages import Message
from server.cluster.nodes import Link

# -- events ------------------------------------------------------------------------------------


@frozen_record
class Tick:
    """A tenth of a second has passed: one round of the cron. Late ticks are harmless."""


@entity
class LinkOpened:
    """A link that the core had dialled is connected."""

    link: Link


@entity
class LinkLost:
    """A link was lost: it could not be dialled, the peer closed it, or its output overflowed.

    Not for links that the core has closed.
    """

    link: Link


@entity
class Received:
    """A message. Inbound links have `is_inbound`, `peer_ip` and `local_ip` set."""

    link: Link
    message: Message


Event = Tick | LinkOpened | LinkLost | Received

# -- actions: the bus --------------------------------------------------------------------------


@entity
class Dial:
    """Connect to a node's bus port; answered by LinkOpened or LinkLost."""

    link: Link
    ip: str
    port: int


@entity
class Send:
    """Send `messages.pack(message)`. Later changes of the state do not change the message."""

    link: Link
    message: Message


@entity
class Close:
    """Close a link and forget it."""

    link: Link


@frozen_record
class Save:
    """Replace nodes.conf by `text`.

    With `is_promise` it must be on disk (fsync) before any later action is carried out, and before
    clients get replies. A failure ends the process, as in Redis.
    """

    text: str
    is_promise: bool


# -- actions: the data -------------------------------------------------------------------------


@frozen_record
class ReplicateFrom:
    """Become a replica of that address, or stay one at a new address."""

    ip: str
    port: int


@frozen_record
class Promote:
    """Become a primary, with the present data."""


@frozen_record
class DeleteKeysInSlots:
    """Delete the keys of these slots, and replicate that as DEL: others own them now."""

    slots: int


@frozen_record
class SlotsChanged:
    """These slots have another owner, or none, or do not belong to this node's new primary.

    Clients that are blocked on keys in them are to be checked, subscriptions to shard channels end.
    """

    slots: int


@frozen_record
class EmptyData:
    """Delete all keys: CLUSTER RESET of a replica."""


@frozen_record
class PauseWrites:
    """Postpone clients' writes until then, and send replicas no PING: a manual failover."""

    until_ms: int


@frozen_record
class ResumeWrites:
    """The manual failover is over, or given up."""


@frozen_record
class StateChanged:
    """`cluster_state` has changed: blocked clients are to be checked."""

    is_ok: bool


@frozen_record
class Deliver:
    """A message of PUBLISH, or SPUBLISH, from another node, for this one's subscribers."""

    channel: bytes
    message: bytes
    is_sharded: bool


@frozen_record
class Log:
    """A line for the log. `is_warning`: its level is "warning", as in Redis."""

    text: str
    is_warning: bool = False


Action = (
    Dial
    | Send
    | Close
    | Save
    | ReplicateFrom
    | Promote
    | DeleteKeysInSlots
    | SlotsChanged
    | EmptyData
    | PauseWrites
    | ResumeWrites
    | StateChanged
    | Deliver
    | Log
)
