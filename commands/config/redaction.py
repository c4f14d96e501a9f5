"""What logs may show: the slow log and MONITOR no passwords, the server's log no users' data.

`hide-user-data-from-log`: whoever writes a name, a key or an argument to the server's log as text
hides it (`Instance.shown`). What is written as Python shows bytes, such as a key in the error of a
file or in a traceback, is hidden by `Host.log`.

Source: Redis 8.2, whose log shows users' data in crash reports only; Redis 8.6, for ACL messages.
"""

from __future__ import annotations

import re

from commands.config.configuration import DIRECTIVES
from protocol.requests import Argv

REDACTED = b"(redacted)"
HIDDEN = "*redacted*"
_BYTES = r"""(?s)\bb'(?:[^'\\]|\\.)*'|\bb"(?:[^"\\]|\\.)*\""""
_ABOUT_USERS = (b"acl|setuser", b"acl|getuser", b"acl|deluser")


def redacted(argv: Argv, fullname: bytes) -> Argv:
    """`argv`, a request of the command `fullname`, or a copy in which secrets are replaced.

    AUTH: all arguments. HELLO: name and password after AUTH. CONFIG SET: values of directives that
    hold a secret. ACL SETUSER, GETUSER and DELUSER: all arguments. Source: Redis 8.2.
    """
    if fullname == b"auth":
        return [argv[0]] + [REDACTED] * (len(argv) - 1)
    if fullname == b"hello":
        return _hello(argv)
    if fullname == b"config|set":
        return _config_set(argv)
    if fullname in _ABOUT_USERS:
        return argv[:2] + [REDACTED] * (len(argv) - 2)
    return argv


def _hello(argv: Argv) -> Argv:
    shown = list(argv)
    position = 2
    while position < len(argv):
        if argv[position].upper() == b"AUTH":
            shown[position + 1 : position + 3] = [REDACTED] * len(argv[position + 1 : position + 3])
            position += 3
        else:
            position += 2  # SETNAME and its name
    return shown


def _config_set(argv: Argv) -> Argv:
    shown = list(argv)
    for position in range(2, len(argv) - 1, 2):
        directive = DIRECTIVES.get(argv[position].lower().decode("latin-1"))
        if directive is not None and directive.sensitive:
            shown[position + 1] = REDACTED
    return shown


def without_bytes(message: str) -> str:
    """A message of the server's log without the bytes in it, which are users' data."""
    return re.sub(_BYTES, HIDDEN, message)
