"""ACL LOAD and ACL SAVE: the users of the ACL file.

The host reads and writes the file (`aclfile`).
"""

from __future__ import annotations

from commands.acl.access_control import AccessControl
from commands.acl.acl_file import InvalidFile, format_users, parse_users
from commands.acl.setuser import FLAGS
from commands.acl.users import User
from commands.core.client import Client
from commands.core.instance import Instance
from commands.core.registry import command
from protocol import replies
from protocol.errors import ReplyError
from protocol.request import Request

_NO_FILE = (
    b"ERR This Redis instance is not configured to use an ACL file. You may want to specify users"
    b" via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis"
    b" configuration file set) in order to store users in the Redis configuration."
)
_SAVE_FAILED = (
    b"ERR There was an error trying to save the ACLs. Please check the server logs for more"
    b" information"
)


def read_users(instance: Instance) -> list[User]:
    """The users of the ACL file. Raises InvalidFile, also if it cannot be read."""
    path = _encode(instance.config.aclfile)
    try:
        text = instance.host.read_acl_file()
    except OSError as error:
        reason = _encode(error.strerror or str(error))
        raise InvalidFile(b"Error loading ACLs, opening file '%b': %b" % (path, reason)) from None
    all_channels = instance.config.acl_pubsub_default == "allchannels"
    return parse_users(text, path, lambda name: User(name, all_channels=all_channels))


@command("ACL LOAD", arity=2, flags=FLAGS)
def acl_load(client: Client, argv: Request) -> bytes:
    """Replace all users by those of the file; none if it has an error. Source: Redis 8.2."""
    instance = client.instance
    if not instance.config.aclfile:
        raise ReplyError(_NO_FILE)
    try:
        users = read_users(instance)
    except InvalidFile as error:
        raise ReplyError(b"ERR " + error.text) from None
    instance.feature(AccessControl).replace(users, client)
    return replies.OK


@command("ACL SAVE", arity=2, flags=FLAGS)
def acl_save(client: Client, argv: Request) -> bytes:
    """Write all users to the file, which is never left incomplete. Source: Redis 8.2."""
    instance = client.instance
    if not instance.config.aclfile:
        raise ReplyError(_NO_FILE)
    text = format_users(instance.feature(AccessControl).sorted_users())
    try:
        instance.host.write_acl_file(text)
    except OSError as error:
        instance.host.log("warning", f"Saving the ACL file failed: {error.strerror}")
        raise ReplyError(_SAVE_FAILED) from None
    return replies.OK


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
