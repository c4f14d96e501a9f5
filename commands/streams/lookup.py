"""Look-up of streams and groups by name, with the errors that several commands share."""

from __future__ import annotations

from commands.core.client import Client
from protocol import errors
from storage.groups.group import Group
from storage.stream import Stream


def find_group(client: Client, key: bytes, name: bytes) -> tuple[Stream, Group]:
    """The stream at `key` and its group, for XPENDING, XCLAIM and XAUTOCLAIM.

    Raises WRONGTYPE, and NOGROUP if there is no key or no group.
    """
    stream = client.lookup_stream(key)
    group = None if stream is None else stream.groups.get(name)
    if stream is None or group is None:
        raise errors.no_key_or_group(key, name)
    return stream, group


def group_of(stream: Stream, key: bytes, name: bytes) -> Group:
    """A group of a stream that is there, for XGROUP and XINFO. Raises NOGROUP."""
    group = stream.groups.get(name)
    if group is None:
        raise errors.no_group_for_key(key, name)
    return group
