"""Redirections in a Redis Cluster: what an error says about the next attempt. Without I/O.

Slots move between nodes. A node that gave a slot away answers MOVED; while the slot moves, ASK
names the node that has the key already, for a single request after ASKING. TRYAGAIN, CLUSTERDOWN
and LOADING pass. A request that was answered with one of these was not executed.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, TypeAlias

Address: TypeAlias = tuple[str, int]

MOVED, ASK = "MOVED", "ASK"
PASSING = ("TRYAGAIN", "CLUSTERDOWN", "LOADING")
CODES = frozenset((MOVED, ASK, *PASSING))
# redis-py removes the first word from the text of an error that has a class of its own.
CLASS_CODES = {
    "MovedError": "MOVED",
    "AskError": "ASK",
    "TryAgainError": "TRYAGAIN",
    "ClusterDownError": "CLUSTERDOWN",
}
# More means that the nodes disagree about who has the slot.
MOST_REDIRECTIONS = 8
# How long a request is repeated: a slot with large keys takes a while to move.
PATIENCE_S = 60.0
PAUSE_S = 0.05


class Step(Enum):
    """The next step for a request that was answered with an error."""

    FAIL = "it is another error: raise it"
    FOLLOW = "send it to the address, and send there what concerns the slot from now on"
    ASK = "send it to the address once, after ASKING"
    WAIT = "send it again after a pause"
    GIVE_UP = "it was redirected too often, or waited for too long"


class Decision(NamedTuple):
    """The next step. `slot` and `address` are those of FOLLOW and ASK."""

    step: Step
    slot: int = -1
    address: Address = ("", 0)


def decide(text: str, host: str, *, redirections: int = 0, seconds: float = 0.0) -> Decision:
    """Return the next step after an error.

    `host`: that of the node which answered, for errors without one. `redirections`, `seconds`: how
    often and for how long the request has been tried.
    """
    code, *words = text.split()
    if code not in CODES:
        return Decision(Step.FAIL)
    if redirections >= MOST_REDIRECTIONS or seconds > PATIENCE_S:
        return Decision(Step.GIVE_UP)
    if code in PASSING:
        return Decision(Step.WAIT)
    slot, place, *_ = words
    name, _, port = place.rpartition(":")
    step = Step.FOLLOW if code == MOVED else Step.ASK
    return Decision(step, int(slot), address_of(name, port, host))


def address_of(name: str, port: str | int, host: str) -> Address:
    """Return the address of a node by the name in a reply.

    A node that does not know its own name has `host`, by which it was reached.
    """
    return (name if name not in ("", "?") else host, int(port))


def is_redirection(text: str) -> bool:
    """Return True if the request was not executed: the node does not have the key, or not yet."""
    return text.partition(" ")[0] in CODES


def text_of(error: Exception) -> str:
    """Return the text of one of redis-py's errors as the server sent it."""
    code = CLASS_CODES.get(type(error).__name__)
    return f"{code} {error}" if code else str(error)
