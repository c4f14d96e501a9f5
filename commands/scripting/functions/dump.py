"""FUNCTION DUMP and RESTORE: all libraries as one payload."""

from __future__ import annotations

from commands.core.client import Client
from commands.core.registry import DENYOOM, NOSCRIPT, RUNS_LUA, WRITE, Reply, command
from commands.core.services import Services
from commands.scripting.functions.function import is_timed
from commands.scripting.functions.libraries import Libraries, Library
from commands.scripting.scripting_state import Scripting
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from protocol.requests import Argv
from storage.redis_format.primitives import CorruptSnapshot
from storage.snapshot.function_payload import NotAFunction, dump_libraries, restore_libraries
from storage.snapshot.payload import BadChecksum

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
