"""The users at the start, and the file that holds them: `aclfile`, or `user` lines elsewhere.

A file is replaced as a whole: written beside the old one, synced, renamed, and the rename synced.
After a crash it is the old one or the new one.

Source: Redis 8.2.
"""

from __future__ import annotations

import os
import re

from commands.acl.access_control import AccessControl
from commands.acl.acl_file import InvalidFile, read_users
from commands.acl.rules import RuleError, has_blanks, joined
from commands.acl.users import User, apply_all
from commands.config.configuration import Configuration
from commands.config.redaction import HIDDEN
from commands.core.instance import Instance
from server.config_file import quote
from server.persistence.files import Files, replace_file

_TWO_PLACES = (
    "Configuring Redis with users defined in redis.conf and at the same setting an ACL file path is"
    " invalid. This setup is very likely to lead to configuration errors and security holes, please"
    " define either an ACL file or declare users directly in your redis.conf, but not both."
)


class InvalidUsers(Exception):
    """The server must not start: the text, for the log, says which user is wrong, and why."""


def read_file(files: Files, config: Configuration) -> bytes:
    """The content of the ACL file. Raises OSError."""
    return bytes(files.buffer(config.aclfile)[:])


def write_file(files: Files, config: Configuration, text: bytes) -> None:
    """Replace the ACL file. Raises OSError."""
    directory, name = os.path.split(config.aclfile)
    replace_file(files, directory or ".", name, text)


def load_users(instance: Instance) -> None:
    """Set the users that the configuration declares. Raises InvalidUsers."""
    config, access = instance.config, instance.feature(AccessControl)
    if config.aclfile and config.users:
        raise InvalidUsers(_TWO_PLACES)
    if config.aclfile:
        try:
            access.replace(read_users(instance))
        except InvalidFile as error:
            reason = error.text.decode("utf-8", "backslashreplace")
            if config.hide_user_data_from_log:
                reason = re.sub("'.*'", HIDDEN, reason)
            raise InvalidUsers(f"Aborting Redis startup because of ACL errors: {reason}") from None
    for words in config.users:
        access.put(_declared(instance, words))


def config_lines(instance: Instance) -> list[str]:
    """The users as lines of the configuration file, for CONFIG REWRITE.

    None if they have a file of their own, or if there is only the built-in default user. Unlike in
    Redis, words are quoted where the file needs that.
    """
    access = instance.feature(AccessControl)
    if instance.config.aclfile or access.is_untouched:
        return []
    lines = (user.line() for user in access.sorted_users())
    return [
        " ".join(map(quote, line.decode("utf-8", "surrogateescape").split(" "))) for line in lines
    ]


def _declared(instance: Instance, words: list[str]) -> User:
    """The user of a `user` line; the default user is declared from nothing, too."""
    name, *rest = (word.encode("utf-8", "surrogateescape") for word in words)
    if has_blanks(name):
        raise InvalidUsers("Spaces not allowed in ACL usernames")
    user = User(name, all_channels=instance.config.acl_pubsub_default == "allchannels")
    for rule in joined(rest):
        try:
            apply_all(user, [rule])
        except RuleError as error:
            shown, user_name = instance.shown(rule), instance.shown(name)
            reason = error.reason.decode("utf-8", "backslashreplace")
            raise InvalidUsers(
                f"Error loading ACL rule '{shown}' for the user named '{user_name}': {reason}"
            ) from None
    return user
