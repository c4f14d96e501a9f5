"""FUNCTION, FCALL and FCALL_RO: libraries of functions; DUMP and RESTORE keep them as a payload."""

from __future__ import annotations

from commands.core.arguments import Arguments
from commands.core.client import Client
from commands.core.gates import GATE_PRIMARY
from commands.core.registry import (
    ALLOW_BUSY,
    DENYOOM,
    LOADING,
    MAY_REPLICATE,
    NOSCRIPT,
    READONLY,
    RUNS_LUA,
    STALE,
    WRITE,
    Reply,
    command,
)
from commands.core.services import Services
from commands.documentation import help_reply
from commands.keys.pattern import matches
from commands.scripting.calls import running_script
from commands.scripting.evaluation import (
    COMMON_FLAGS,
    MAY_WRITE_KEYS,
    READ_KEYS,
    Scripting,
    first_slot,
    refuse_at_start,
    show,
    split_arguments,
)
from commands.scripting.interpreter import Registered
from commands.scripting.libraries import Libraries, Library
from commands.scripting.source import FLAGS
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from protocol.requests import Argv
from storage.redis_format.primitives import CorruptSnapshot
from storage.snapshot.payload import BadChecksum, NotAFunction, dump_libraries, restore_libraries


def is_timed(client: Client) -> bool:
    """Return True if loading a library for this client has a time limit."""
    return not (client.replays or client.gates & GATE_PRIMARY)


@command("FUNCTION LOAD", arity=-3, flags=WRITE | DENYOOM | NOSCRIPT | RUNS_LUA)
def function_load(client: Client, argv: Request) -> Reply:
    """The library's name. Its source may pause, as a script does."""
    replaces = False
    for word in argv[2:-1]:
        if word.upper() != b"REPLACE":
            raise ReplyError(b"ERR Unknown option given: %b" % word)
        replaces = True
    words = argv.words()
    runner = client.instance.feature(Services).runner
    return runner.run_with_pauses(client, words, lambda: _load(client, words, replaces))


def _load(client: Client, argv: Argv, replaces: bool) -> bytes:
    libraries = client.instance.feature(Scripting).libraries
    library = libraries.load(argv[-1], replaces=replaces, is_timed=is_timed(client))
    client.changed()
    client.propagate(*argv)
    return replies.bulk(library.name)


@command("FUNCTION DELETE", arity=3, flags=WRITE | NOSCRIPT)
def function_delete(client: Client, argv: Request) -> bytes:
    """An error if no library has that name."""
    client.instance.feature(Scripting).libraries.delete(argv[2])
    client.changed()
    return replies.OK


@command("FUNCTION FLUSH", arity=-2, flags=WRITE | NOSCRIPT)
def function_flush(client: Client, argv: Request) -> bytes:
    """ASYNC and SYNC do the same: the whole interpreter is replaced."""
    if len(argv) > 3:
        raise errors.subcommand_syntax(b"FUNCTION", argv[1])
    if len(argv) == 3 and argv[2].upper() not in (b"SYNC", b"ASYNC"):
        raise ReplyError(b"ERR FUNCTION FLUSH only supports SYNC|ASYNC option")
    client.instance.feature(Scripting).libraries.clear()
    client.changed()
    return replies.OK


@command("FUNCTION LIST", arity=-2, flags=NOSCRIPT)
def function_list(client: Client, argv: Request) -> bytes:
    """An array of maps; the pattern ignores case."""
    arguments = Arguments(argv, 2)
    seen: set[bytes] = set()
    pattern = b"*"
    while arguments:
        word = arguments.next()
        option = word.upper()
        if option not in (b"WITHCODE", b"LIBRARYNAME") or option in seen:
            raise ReplyError(b"ERR Unknown argument %b" % word)
        seen.add(option)
        if option == b"LIBRARYNAME":
            pattern = arguments.next(b"ERR library name argument was not given")
    return replies.array(
        [
            _describe(library, client.resp, with_code=b"WITHCODE" in seen)
            for library in client.instance.feature(Scripting).libraries.by_name.values()
            if matches(pattern, library.name, ignore_case=True)
        ]
    )


def _describe(library: Library, resp: int, *, with_code: bool) -> bytes:
    functions = [_describe_function(found, resp) for found in library.functions.values()]
    fields = [
        replies.bulk(b"library_name"),
        replies.bulk(library.name),
        replies.bulk(b"engine"),
        replies.bulk(b"LUA"),
        replies.bulk(b"functions"),
        replies.array(functions),
    ]
    if with_code:
        fields += [replies.bulk(b"library_code"), replies.bulk(library.code)]
    return replies.mapping(fields, resp)


def _describe_function(function: Registered, resp: int) -> bytes:
    flags = [replies.simple(flag) for flag in FLAGS if flag in function.flags]
    return replies.mapping(
        [
            replies.bulk(b"name"),
            replies.bulk(function.name),
            replies.bulk(b"description"),
            replies.bulk_or_nil(function.description, resp),
            replies.bulk(b"flags"),
            replies.set_header(len(flags), resp) + b"".join(flags),
        ],
        resp,
    )


@command("FUNCTION STATS", arity=2, flags=NOSCRIPT | ALLOW_BUSY)
def function_stats(client: Client, argv: Request) -> bytes:
    """The libraries are counted by engine, of which there is one."""
    resp, scripting = client.resp, client.instance.feature(Scripting)
    libraries = scripting.libraries
    if scripting.running is not None and not scripting.running.is_function:
        raise scripting.busy_error
    counts = [
        replies.bulk(b"libraries_count"),
        replies.integer(len(libraries.by_name)),
        replies.bulk(b"functions_count"),
        replies.integer(len(libraries.functions)),
    ]
    engines = [replies.bulk(b"LUA"), replies.mapping(counts, resp)]
    return replies.mapping(
        [
            replies.bulk(b"running_script"),
            _running(client),
            replies.bulk(b"engines"),
            replies.mapping(engines, resp),
        ],
        resp,
    )


def _running(client: Client) -> bytes:
    instance = client.instance
    running = instance.feature(Scripting).running
    if running is None:
        return replies.NIL[client.resp]
    elapsed_ms = (instance.host.monotonic_us() - running.started_us) // 1000
    return replies.mapping(
        [
            replies.bulk(b"name"),
            replies.bulk(running.name),
            replies.bulk(b"command"),
            replies.bulk_array(running.argv),
            replies.bulk(b"duration_ms"),
            replies.integer(elapsed_ms),
        ],
        client.resp,
    )


@command("FUNCTION KILL", arity=2, flags=NOSCRIPT | ALLOW_BUSY)
def function_kill(client: Client, argv: Request) -> bytes:
    """Errors: NOTBUSY, UNKILLABLE; BUSY if a script runs."""
    return client.instance.feature(Scripting).kill(function=True)


@command("FUNCTION HELP", arity=2, flags=LOADING | STALE)
def function_help(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2, for the shape."""
    return help_reply(
        b"FUNCTION",
        b"LOAD [REPLACE] <FUNCTION CODE>",
        b"    Load a library.",
        b"DELETE <LIBRARY NAME>",
        b"    Remove a library.",
        b"LIST [LIBRARYNAME PATTERN] [WITHCODE]",
        b"    The libraries and their functions.",
        b"STATS",
        b"    The function that runs, and how many libraries there are.",
        b"KILL",
        b"    End the function that runs, if it has not written.",
        b"FLUSH [ASYNC|SYNC]",
        b"    Remove all libraries.",
        b"DUMP",
        b"    All libraries as bytes for FUNCTION RESTORE.",
        b"RESTORE <PAYLOAD> [FLUSH|APPEND|REPLACE]",
        b"    Load the libraries of a payload: in the place of all, beside those that there are,",
        b"    or in the place of those with the same names.",
    )


_POLICIES = (b"APPEND", b"REPLACE", b"FLUSH")


@command("FUNCTION DUMP", arity=2, flags=NOSCRIPT)
def function_dump(client: Client, argv: Request) -> bytes:
    """The payload for FUNCTION RESTORE, also that of Redis."""
    instance = client.instance
    codes = instance.feature(Scripting).library_codes()
    return replies.bulk(dump_libraries(codes, compress=instance.config.rdbcompression))


@command("FUNCTION RESTORE", arity=-3, flags=WRITE | DENYOOM | NOSCRIPT | RUNS_LUA)
def function_restore(client: Client, argv: Request) -> Reply:
    """Restores all libraries, or none if there is an error."""
    if len(argv) > 4:
        raise errors.subcommand_syntax(b"FUNCTION", argv[1])
    policy = argv[3].upper() if len(argv) == 4 else b"APPEND"
    if policy not in _POLICIES:
        raise ReplyError(
            b"ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE."
        )
    try:
        codes = restore_libraries(argv[2])
    except BadChecksum:
        raise ReplyError(b"ERR DUMP payload version or checksum are wrong") from None
    except NotAFunction:
        raise ReplyError(b"ERR given type is not a function") from None
    except CorruptSnapshot:
        raise ReplyError(b"ERR failed loading the given functions payload") from None
    words = argv.words()
    runner = client.instance.feature(Services).runner
    return runner.run_with_pauses(client, words, lambda: _restore(client, words, codes, policy))


def _restore(client: Client, argv: Argv, codes: list[bytes], policy: bytes) -> bytes:
    scripting = client.instance.feature(Scripting)
    libraries = scripting.libraries
    # Separate from the existing libraries until all have loaded.
    new = scripting.empty_libraries()
    scripting.libraries = new
    try:
        for code in codes:
            new.load(code, replaces=False, is_timed=is_timed(client))
        if policy != b"FLUSH":
            _merge(libraries, new, replaces=policy == b"REPLACE")
    except ReplyError:
        scripting.libraries = libraries
        raise
    client.changed()
    client.propagate(*argv)
    return replies.OK


def _merge(old: Libraries, new: Libraries, *, replaces: bool) -> None:
    """Add the existing libraries that are not replaced. Raises ReplyError for a collision."""
    kept: list[Library] = []
    for library in old.by_name.values():
        if library.name not in new.by_name:
            kept.append(library)
        elif not replaces:
            raise ReplyError(b"ERR Library %b already exists" % library.name)
    for library in kept:
        new.refuse_collisions(library)
    for library in kept:
        new.load(library.code, replaces=False, is_timed=False)


_BAD_NUMBER = b"ERR Bad number of keys provided"


@command("FCALL", arity=-3, flags=COMMON_FLAGS | MAY_REPLICATE, keys=MAY_WRITE_KEYS)
def fcall(client: Client, argv: Request) -> Reply:
    """The result of the function."""
    return _call(client, argv, is_read_only=False)


@command("FCALL_RO", arity=-3, flags=COMMON_FLAGS | READONLY, keys=READ_KEYS)
def fcall_ro(client: Client, argv: Request) -> Reply:
    """The result of the function, which must have the flag no-writes."""
    return _call(client, argv, is_read_only=True)


def _call(client: Client, argv: Request, *, is_read_only: bool) -> Reply:
    show(client, argv)
    scripting = client.instance.feature(Scripting)
    registered = scripting.libraries.find(argv[1])
    if registered is None:
        raise ReplyError(b"ERR Function not found")
    keys, rest = split_arguments(argv, not_a_number=_BAD_NUMBER)
    refuse_at_start(client.instance, registered.flags, is_read_only=is_read_only)
    is_read_only = is_read_only or b"no-writes" in registered.flags
    running = running_script(client, registered.name, argv.words(), True, is_read_only)
    running.allows_growth = b"allow-oom" in registered.flags
    running.slot = first_slot(client.instance, registered.flags, keys)
    assert registered.callback is not None
    return scripting.run(running, scripting.libraries.interpreter, registered.callback, keys, rest)
