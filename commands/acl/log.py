"""The log of refusals, ACL LOG: which user was refused what, by which client.

Bounded by `acllog-max-len`. A refusal that equals one of the newest entries within a minute is
counted there, so that one client that tries again and again does not push the others out.

Source: Redis 8.2.
"""

from __future__ import annotations

from commands.core.arguments import parse_int
from commands.core.client import Client
from commands.core.instance import Instance
from commands.core.registry import ADMIN, LOADING, NOSCRIPT, STALE, command
from protocol import errors, replies
from protocol.records import record
from protocol.request import Request

DEFAULT_COUNT = 10
# A refusal is counted with an equal one among this many of the newest entries, ...
_NEWEST = 10
# ... if that was renewed no longer ago than this.
_TOGETHER_MS = 60_000


@record
class Entry:
    """Equal refusals. Times are Unix times in milliseconds."""

    id: int
    reason: bytes  # command, key, channel, auth, tls-cert
    context: bytes  # toplevel, multi, lua
    object: bytes  # the full name of the command, the key or channel, the word that logs in, a name
    username: bytes
    created_ms: int
    updated_ms: int
    client_info: bytes
    count: int = 1


class AccessLog:
    """A bounded list of refusals, the newest first."""

    def __init__(self, instance: Instance) -> None:
        self._config = instance.config
        self._entries: list[Entry] = []
        self._next_id = 0

    def add(
        self,
        reason: bytes,
        context: bytes,
        subject: bytes,
        username: bytes,
        client_info: bytes,
        now_ms: int,
    ) -> None:
        """Record a refusal."""
        entries = self._entries
        for position, entry in enumerate(entries[:_NEWEST]):
            if (
                (entry.reason, entry.context, entry.object) == (reason, context, subject)
                and entry.username == username
                and abs(now_ms - entry.updated_ms) <= _TOGETHER_MS
            ):
                entry.count += 1
                entry.client_info, entry.updated_ms = client_info, now_ms
                entries.insert(0, entries.pop(position))
                return
        entry = Entry(
            self._next_id, reason, context, subject, username, now_ms, now_ms, client_info
        )
        self._next_id += 1
        entries.insert(0, entry)
        del entries[self._config.acllog_max_len :]

    def latest(self, count: int) -> list[Entry]:
        """Up to `count` entries, the newest first."""
        return self._entries[: max(count, 0)]

    def reset(self) -> None:
        """Delete all entries."""
        self._entries.clear()


@command("ACL LOG", arity=-2, flags=ADMIN | NOSCRIPT | LOADING | STALE)
def acl_log(client: Client, argv: Request) -> bytes:
    """Array of maps, the newest first; OK to RESET. Source: Redis 8.2."""
    log = client.instance.feature(AccessLog)
    if len(argv) > 3:
        raise errors.subcommand_syntax(b"ACL", argv[1])
    count = DEFAULT_COUNT
    if len(argv) == 3:
        if argv[2].upper() == b"RESET":
            log.reset()
            return replies.OK
        count = parse_int(argv[2], errors.NOT_AN_INTEGER)
    now_ms = client.instance.now_ms
    return replies.array([_shown(entry, now_ms, client.resp) for entry in log.latest(count)])


def _shown(entry: Entry, now_ms: int, resp: int) -> bytes:
    fields = {
        b"count": replies.integer(entry.count),
        b"reason": replies.bulk(entry.reason),
        b"context": replies.bulk(entry.context),
        b"object": replies.bulk(entry.object),
        b"username": replies.bulk(entry.username),
        b"age-seconds": replies.double((now_ms - entry.updated_ms) / 1000, resp),
        b"client-info": replies.bulk(entry.client_info),
        b"entry-id": replies.integer(entry.id),
        b"timestamp-created": replies.integer(entry.created_ms),
        b"timestamp-last-updated": replies.integer(entry.updated_ms),
    }
    items = [word for name, value in fields.items() for word in (replies.bulk(name), value)]
    return replies.mapping(items, resp)
