"""FUNCTION FLUSH, LIST, STATS, HELP: there is no script engine, so there are no libraries.

Clients and test suites empty the store (FUNCTION FLUSH) and look into it; that much is answered.
Loading is not: FUNCTION LOAD is an unknown sub-command.
"""

from __future__ import annotations

from commands.arguments import Arguments
from commands.client import Client
from commands.help import help_reply
from commands.registry import ALLOW_BUSY, LOADING, NOSCRIPT, STALE, WRITE, Argv, command, container
from protocol import errors, replies
from protocol.errors import ReplyError

container(
    "FUNCTION",
    group="scripting",
    since="7.0.0",
    summary="Shows the libraries of functions.",
)


@command(
    "FUNCTION FLUSH",
    arity=-2,
    flags=WRITE | NOSCRIPT,
    group="scripting",
    since="7.0.0",
    summary="Removes all libraries.",
    syntax="[ASYNC | SYNC]",
    complexity="O(N) where N is the number of functions deleted",
    tips=(b"request_policy:all_shards", b"response_policy:all_succeeded"),
)
def function_flush(client: Client, argv: Argv) -> bytes:
    """There is nothing to remove, and so nothing to propagate."""
    if len(argv) > 3:
        raise errors.subcommand_syntax(b"FUNCTION", argv[1])
    if len(argv) == 3 and argv[2].upper() not in (b"SYNC", b"ASYNC"):
        raise ReplyError(b"ERR FUNCTION FLUSH only supports SYNC|ASYNC option")
    return replies.OK


@command(
    "FUNCTION LIST",
    arity=-2,
    flags=NOSCRIPT,
    group="scripting",
    since="7.0.0",
    summary="Lists the libraries.",
    syntax="[LIBRARYNAME library-name-pattern] [WITHCODE]",
    complexity="O(N) where N is the number of functions",
    tips=(b"nondeterministic_output_order",),
)
def function_list(client: Client, argv: Argv) -> bytes:
    """An empty array."""
    arguments = Arguments(argv, 2)
    seen: set[bytes] = set()
    while arguments:
        word = arguments.next()
        option = word.upper()
        if option not in (b"WITHCODE", b"LIBRARYNAME") or option in seen:
            raise ReplyError(b"ERR Unknown argument %b" % word)
        seen.add(option)
        if option == b"LIBRARYNAME":
            arguments.next(b"ERR library name argument was not given")
    return replies.EMPTY_ARRAY


@command(
    "FUNCTION STATS",
    arity=2,
    flags=NOSCRIPT | ALLOW_BUSY,
    group="scripting",
    since="7.0.0",
    summary="Returns the function that runs and counts libraries.",
    tips=(b"nondeterministic_output", b"request_policy:all_shards", b"response_policy:special"),
)
def function_stats(client: Client, argv: Argv) -> bytes:
    """Nothing runs; the libraries are counted by engine, of which Redis knows one."""
    resp = client.resp
    counts = replies.mapping(
        [
            replies.bulk(b"libraries_count"),
            replies.ZERO,
            replies.bulk(b"functions_count"),
            replies.ZERO,
        ],
        resp,
    )
    return replies.mapping(
        [
            replies.bulk(b"running_script"),
            replies.NIL[resp],
            replies.bulk(b"engines"),
            replies.mapping([replies.bulk(b"LUA"), counts], resp),
        ],
        resp,
    )


@command(
    "FUNCTION HELP",
    arity=2,
    flags=LOADING | STALE,
    group="scripting",
    since="7.0.0",
    summary="Lists the sub-commands.",
)
def function_help(client: Client, argv: Argv) -> bytes:
    """Source: Redis 7.2, for the shape."""
    return help_reply(
        b"FUNCTION",
        b"FLUSH [ASYNC|SYNC]",
        b"    Remove all libraries.",
        b"LIST [LIBRARYNAME <pattern>] [WITHCODE]",
        b"    The libraries; there are none without a script engine.",
        b"STATS",
        b"    The function that runs, and how many libraries there are.",
    )
