"""How policies reach the append-only file and replicas: as rows, in carriers.

No Redis loads or replicates a request of Rillway's own, so a policy never travels as one. A change
is a row (storage/policies/rows.py) in an ECHO, as `XPOLICY key kind word ...`, which is no command:
clients cannot send it.
"""

from __future__ import annotations

from commands.core.client import Client
from commands.core.registry import carried_command, propagate_carried
from commands.streams.groups.delivery import group_changed
from commands.streams.policies.timer import note
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.policies.rows import UnknownPolicy, restore
from storage.stream import Stream


def propagate_row(client: Client, key: bytes, *row: bytes) -> None:
    """Propagate a change of the policies of the stream at `key`."""
    propagate_carried(client, b"XPOLICY", key, *row)


@carried_command("XPOLICY", arity=-3)
def xpolicy(client: Client, argv: Request) -> bytes:
    """OK. Takes a row into the stream."""
    words = argv.words()
    key = words[1]
    stream: Stream | None = client.lookup_stream_for_write(key)
    if stream is None:
        raise ReplyError(errors.NO_SUCH_KEY)
    try:
        restore(stream, words[2:])
    except UnknownPolicy as error:
        raise ReplyError(b"ERR " + str(error).encode()) from None
    group_changed(client, key)
    note(client, key, stream)
    return replies.OK
