"""The ACL categories of a command, which follow from its flags and its group."""

from __future__ import annotations

from commands.core.documentation import row_of
from commands.core.registry import ADMIN, BLOCKING, FAST, PUBSUB, READONLY, WRITE, Command

# All of them, in the order of ACL CAT.
CATEGORIES = (
    "keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap",
    "hyperloglog", "geo", "stream", "pubsub", "admin", "fast", "slow", "blocking", "dangerous",
    "connection", "transaction", "scripting",
)  # fmt: skip
_GROUP_CATEGORIES = {
    "generic": "keyspace",
    "string": "string",
    "list": "list",
    "set": "set",
    "sorted-set": "sortedset",
    "hash": "hash",
    "bitmap": "bitmap",
    "hyperloglog": "hyperloglog",
    "geo": "geo",
    "stream": "stream",
    "transactions": "transaction",
    "connection": "connection",
    "scripting": "scripting",
}

_NAMED_BY_GROUPS = frozenset(_GROUP_CATEGORIES.values())


def acl_categories(command: Command) -> list[bytes]:
    """The ACL categories, with their @, as COMMAND INFO prints them."""
    if command.handler is None:
        return [b"@slow"]  # a container has the categories of its sub-commands
    row = row_of(command)
    names: list[str] = []
    if command.flags & WRITE:
        names.append("write")
    if command.flags & READONLY and row.group != "scripting":
        names.append("read")
    # WAIT is in the group of those that work on keys of any type, and works on none; SORT on some.
    has_own = not _NAMED_BY_GROUPS.isdisjoint(row.categories)
    if row.group in _GROUP_CATEGORIES and not has_own:
        names.append(_GROUP_CATEGORIES[row.group])
    if command.flags & ADMIN:
        names += ["admin", "dangerous"]
    if command.flags & PUBSUB:
        names.append("pubsub")
    names.append("fast" if command.flags & FAST else "slow")
    if command.flags & BLOCKING:
        names.append("blocking")
    names += [name for name in row.categories if name not in names]
    return [b"@" + name.encode() for name in names]
