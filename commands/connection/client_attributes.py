"""CLIENT ID, SETNAME, GETNAME, SETINFO, REPLY, NO-EVICT, NO-TOUCH and HELP: the caller's
connection.

This module declares the container CLIENT, so it is imported before the others of its commands.

Source: Redis 7.4.
"""

from __future__ import annotations

from commands.connection.client_memory import ClientMemory
from commands.core.client import Client
from commands.core.gates import GATE_SILENT
from commands.core.registry import ADMIN, LOADING, NOSCRIPT, STALE, command
from commands.documentation import help_reply
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request

# The characters of a name or a library's version: what cannot break a line of CLIENT LIST.
_FIRST_PRINTABLE, _LAST_PRINTABLE = b"!~"
_FLAGS = NOSCRIPT | LOADING | STALE


def check_name(name: bytes) -> None:
    """Refuse a connection's name that CLIENT LIST could not show in a word."""
    if not _is_one_word(name):
        raise ReplyError(errors.CLIENT_NAME_CHARACTERS)


def _is_one_word(text: bytes) -> bool:
    return all(_FIRST_PRINTABLE <= character <= _LAST_PRINTABLE for character in text)


class Library:
    """The library that uses a client, as CLIENT SETINFO names it."""

    def __init__(self) -> None:
        self.name = self.version = b""


@command("CLIENT ID", arity=2, flags=_FLAGS)
def client_id(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2."""
    return replies.integer(client.id)


@command("CLIENT SETNAME", arity=3, flags=_FLAGS)
def client_setname(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2."""
    check_name(argv[2])
    client.name = argv[2]
    return replies.OK


@command("CLIENT GETNAME", arity=2, flags=_FLAGS)
def client_getname(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2."""
    return replies.bulk_or_nil(client.name or None, client.resp)


@command("CLIENT SETINFO", arity=4, flags=_FLAGS)
def client_setinfo(client: Client, argv: Request) -> bytes:
    """Errors repeat the option as it was written. Source: Redis 7.2."""
    option, value = argv[2], argv[3]
    if option.upper() not in (b"LIB-NAME", b"LIB-VER"):
        raise errors.unrecognized_client_attribute(option)
    if not _is_one_word(value):
        raise errors.client_attribute_characters(option)
    if option.upper() == b"LIB-NAME":
        client.feature(Library).name = value
    else:
        client.feature(Library).version = value
    return replies.OK


@command("CLIENT REPLY", arity=3, flags=_FLAGS)
def client_reply(client: Client, argv: Request) -> bytes:
    """Only ON is answered. The dispatcher holds the replies back. Source: Redis 7.2."""
    mode = argv[2].upper()
    if mode == b"ON":
        client.reply_mode = mode
        client.gates &= ~GATE_SILENT
        return replies.OK
    if mode not in (b"OFF", b"SKIP"):
        raise ReplyError(errors.SYNTAX)
    if mode == b"OFF":
        client.reply_mode = mode
    elif client.reply_mode != b"OFF":
        client.reply_mode = b"SKIP_NEXT"
    client.gates |= GATE_SILENT
    return b""


def _on_or_off(word: bytes) -> bool:
    if word.upper() not in (b"ON", b"OFF"):
        raise ReplyError(errors.SYNTAX)
    return word.upper() == b"ON"


@command("CLIENT NO-EVICT", arity=3, flags=_FLAGS | ADMIN)
def client_no_evict(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2."""
    client.no_evict = _on_or_off(argv[2])
    client.instance.feature(ClientMemory).update(client)
    return replies.OK


@command("CLIENT NO-TOUCH", arity=3, flags=_FLAGS)
def client_no_touch(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2."""
    client.no_touch = _on_or_off(argv[2])
    return replies.OK


@command("CLIENT HELP", arity=2, flags=LOADING | STALE)
def client_help(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.4, in words of our own."""
    return help_reply(
        b"CLIENT",
        b"CACHING (YES|NO)",
        b"    Have the keys of the next request remembered, or not, in OPTIN or OPTOUT mode.",
        b"GETREDIR",
        b"    Tell which client hears of this one's invalidations.",
        b"GETNAME",
        b"    Tell the name of this connection.",
        b"ID",
        b"    Tell the ID of this connection.",
        b"INFO",
        b"    Describe this connection as CLIENT LIST does.",
        b"KILL <ip:port>",
        b"    Close the connection from an address.",
        b"KILL <option> <value> [<option> <value> [...]]",
        b"    Close the connections that fit all of the options:",
        b"    * ADDR (<ip:port>|<unixsocket>:0): of this remote address.",
        b"    * LADDR (<ip:port>|<unixsocket>:0): of this local address.",
        b"    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB): of this kind.",
        b"    * USER <username>: of this user.",
        b"    * ID <client-id>: the one with this ID.",
        b"    * MAXAGE <seconds>: that have been open at least so long.",
        b"    * SKIPME (YES|NO): whether to spare this connection (default: yes).",
        b"LIST [TYPE (NORMAL|MASTER|REPLICA|PUBSUB)] | [ID <client-id> [<client-id> ...]]",
        b"    Tell about all connections, a line for each, or about some of them.",
        b"NO-EVICT (ON|OFF)",
        b"    Spare this connection when clients are closed to save memory, or do not.",
        b"NO-TOUCH (ON|OFF)",
        b"    Read keys without changing their idle time, or with.",
        b"PAUSE <timeout> [WRITE|ALL]",
        b"    Postpone all requests, or those that write, for a number of milliseconds.",
        b"REPLY (ON|OFF|SKIP)",
        b"    Answer this connection's requests, answer none, or leave out the next answer.",
        b"SETINFO <option> <value>",
        b"    Say which library uses this connection: LIB-NAME or LIB-VER and its value.",
        b"SETNAME <name>",
        b"    Name this connection.",
        b"TRACKING (ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> [...]]",
        b"         [OPTIN] [OPTOUT] [NOLOOP]",
        b"    Hear when keys change that this connection has read.",
        b"TRACKINGINFO",
        b"    Tell how this connection tracks keys.",
        b"UNBLOCK <client-id> [TIMEOUT|ERROR]",
        b"    End another client's wait, as if its time were up or with an error.",
        b"UNPAUSE",
        b"    End CLIENT PAUSE.",
    )
