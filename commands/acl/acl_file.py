"""The ACL file: a line `user <name> <rule> ...` for each user; ACL LOAD and ACL SAVE.

Nothing of a file with an error is used; the errors of all its lines make one message, which names
one for each line. The host reads and writes the file (server/user_files.py).

Source: Redis 8.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from commands.acl import rules
from commands.acl.access_control import AccessControl
from commands.acl.administration import FLAGS
from commands.acl.rules import RuleError
from commands.acl.users import User
from commands.core.client import Client
from commands.core.instance import Instance
from commands.core.registry import command
from protocol import replies
from protocol.errors import ReplyError
from protocol.request import Request

_UNCHANGED = (
    b"WARNING: ACL errors detected, no change to the previously active ACL rules was performed"
)


class InvalidFile(Exception):
    """The file has errors; the text is the message for clients and the log, without a code."""

    def __init__(self, text: bytes) -> None:
        super().__init__(text)
        self.text = text


def format_users(users: Iterable[User]) -> bytes:
    """The text for these users."""
    return b"".join(user.line() + b"\n" for user in users)


def parse_users(text: bytes, name: bytes, new_user: Callable[[bytes], User]) -> list[User]:
    """The users of a text. Raises InvalidFile, which calls the file `name`.

    `new_user` makes a user without rights.
    """
    users: dict[bytes, User] = {}
    problems: list[bytes] = []
    for number, line in enumerate(text.split(b"\n"), 1):
        line = line.strip(b" \t\r\n")
        if not line:
            continue
        place = b"%b:%d" % (name, number)
        words = line.split(b" ")
        if words[0] != b"user" or len(words) < 2:  # neither a comment
            problems.append(b"%b should start with user keyword followed by the username. " % place)
        elif rules.has_blanks(words[1]):
            problems.append(b"'%b: username '%b' contains invalid characters. " % (place, words[1]))
        elif words[1] in users:
            problems.append(b"WARNING: Duplicate user '%b' found on line %d. " % (words[1], number))
        else:
            user = new_user(words[1])
            problems.append(_problems_with(user, words[2:], place))
            users[user.name] = user
    if any(problems):
        raise InvalidFile(b"".join(problems) + _UNCHANGED)
    return list(users.values())


def _problems_with(user: User, words: list[bytes], place: bytes) -> bytes:
    """Apply the rules of a line; messages about unknown commands, and the first other one."""
    try:
        merged = rules.joined(words)
    except RuleError as error:
        return b"%b: %b " % (place, error.reason)  # where Redis 8.2 ends
    problems: list[bytes] = []
    others = 0
    for rule in merged:
        rule = rule.strip(b"\t\r\n")
        try:
            user.apply(rule)
        except RuleError as error:
            if error.reason == rules.UNKNOWN_COMMAND:
                problems.append(
                    b"%b: Error in applying operation '%b': %b. " % (place, rule, error.reason)
                )
            elif not others:
                others = 1
                problems.append(b"%b: %b. " % (place, error.reason))
    return b"".join(problems)


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
