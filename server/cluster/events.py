"""What happens to the cluster core, and what it wants done.

The core has no I/O: `Cluster.step(event, monotonic_ms)` returns actions, which the I/O layer
carries out in their order. `Save` comes before all that it must precede: whoever runs the actions
has written and synced the file before it goes on.
"""

from __future__ import annotations

from protocol.records import entity, frozen_record
from server.cluster.messages import Message
from server.cluster.nodes import Link

# -- events ------------------------------------------------------------------------------------


@frozen_record
class Tick:
    """A tenth of a second has passed. Late ones are harmless; each is one round of the cron."""


@entity
class LinkOpened:
    """A link that the core had dialled is connected."""

    link: Link


@entity
class LinkLost:
    """A link is gone: it could not be dialled, the peer closed it, or its output overflowed.

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
    """Be a replica of that address, or go on as one at a new address."""

    ip: str
    port: int


@frozen_record
class Promote:
    """Be a primary from now on, with the data that is here."""


@frozen_record
class DeleteKeysInSlots:
    """Delete the keys of these slots, and replicate that as DEL: others own them now."""

    slots: int


@frozen_record
class SlotsChanged:
    """These slots have another owner, or none; or they are not those of this node's new primary.

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
    """`cluster_state` is another: blocked clients are to be checked."""

    is_ok: bool


@frozen_record
class Deliver:
    """A message of PUBLISH, or SPUBLISH, from another node, for this one's subscribers."""

    channel: bytes
    message: bytes
    is_sharded: bool


@frozen_record
class Log:
    """A line for the log; `is_warning` as Redis's level."""

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
