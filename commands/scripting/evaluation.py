"""EVAL, EVALSHA, EVAL_RO and EVALSHA_RO, and the command flags of what they run."""

from __future__ import annotations

import cython

from commands.core.client import Client
from commands.core.gates import GATE_STALE
from commands.core.instance import Instance
from commands.core.registry import (
    DENYOOM,
    MAY_REPLICATE,
    MOVABLE_KEYS,
    NO_MANDATORY_KEYS,
    NOSCRIPT,
    READONLY,
    RUNS_LUA,
    SKIP_MONITOR,
    STALE,
    WRITE,
    Command,
    Reply,
    command,
    counted_keys,
)
from commands.scripting.running_script import ANY_SLOT, NO_SLOT, running_script
from commands.scripting.script_cache import Script
from commands.scripting.scripting_state import Scripting
from commands.scripting.shebang import parse_script
from commands.server.monitor import feed_monitors
from protocol import errors
from protocol.errors import ReplyError
from protocol.request import Request
from protocol.requests import Argv
from protocol.slots import key_slot
from storage.types.value import as_int64

COMMON_FLAGS = NOSCRIPT | STALE | SKIP_MONITOR | NO_MANDATORY_KEYS | MOVABLE_KEYS | RUNS_LUA
MAY_WRITE_KEYS = counted_keys(b"RW", b"ACCESS", b"UPDATE", at=2)
READ_KEYS = counted_keys(b"RO", b"ACCESS", at=2)
_NO_SCRIPT = b"NOSCRIPT No matching script. Please use EVAL."
_SHA_LENGTH = 40
_BY_SOURCE = {b"eval", b"eval_ro"}
_BY_SHA1 = {b"evalsha", b"evalsha_ro"}
_BY_NAME = {b"fcall", b"fcall_ro"}


def split_arguments(
    argv: Request, not_a_number: bytes = errors.NOT_AN_INTEGER
) -> tuple[Argv, Argv]:
    """Split into keys and other arguments. Raises ReplyError."""
    words = argv.words()
    number = as_int64(words[2])
    if number is None:
        raise ReplyError(not_a_number)
    if number > len(words) - 3:
        raise ReplyError(b"ERR Number of keys can't be greater than number of args")
    if number < 0:
        raise ReplyError(b"ERR Number of keys can't be negative")
    first: cython.Py_ssize_t = 3 + number
    return words[3:first], words[first:]


@command("EVAL", arity=-3, flags=COMMON_FLAGS | MAY_REPLICATE, keys=MAY_WRITE_KEYS)
def eval_(client: Client, argv: Request) -> Reply:
    """The result of the script."""
    return _evaluate(client, argv, is_read_only=False)


@command("EVALSHA", arity=-3, flags=COMMON_FLAGS | MAY_REPLICATE, keys=MAY_WRITE_KEYS)
def evalsha(client: Client, argv: Request) -> Reply:
    """The result of the script. NOSCRIPT if no script has that SHA1."""
    return _evaluate_cached(client, argv, False)


@command("EVAL_RO", arity=-3, flags=COMMON_FLAGS | READONLY, keys=READ_KEYS)
def eval_ro(client: Client, argv: Request) -> Reply:
    """The result of the script; commands that write are refused."""
    return _evaluate(client, argv, is_read_only=True)


@command("EVALSHA_RO", arity=-3, flags=COMMON_FLAGS | READONLY, keys=READ_KEYS)
def evalsha_ro(client: Client, argv: Request) -> Reply:
    """The result of the script; commands that write are refused. NOSCRIPT if none has that SHA1."""
    return _evaluate_cached(client, argv, True)


def _evaluate(client: Client, argv: Request, *, is_read_only: bool) -> Reply:
    show(client, argv)
    keys, arguments = split_arguments(argv)
    script = client.instance.feature(Scripting).scripts.take(argv[1], is_loaded=False)
    return _start(client, argv, script, keys, arguments, is_read_only)


def _evaluate_cached(client: Client, argv: Request, is_read_only: cython.bint) -> Reply:
    show(client, argv)
    sha = argv.words()[1]
    if len(sha) != _SHA_LENGTH:
        raise ReplyError(_NO_SCRIPT)
    keys, arguments = split_arguments(argv)
    scripting: Scripting = client.instance.feature(Scripting)
    script = scripting.scripts.find(sha)
    if script is None:
        raise ReplyError(_NO_SCRIPT)
    return _start(client, argv, script, keys, arguments, is_read_only)


def show(client: Client, argv: Request) -> None:
    """Monitors see the script before its commands."""
    if client.instance.monitors:
        feed_monitors(client.instance, client, argv.words())


def _start(
    client: Client,
    argv: Request,
    script: Script,
    keys: Argv,
    rest: Argv,
    is_read_only: cython.bint,
) -> Reply:
    instance = client.instance
    if script.has_shebang:
        refuse_at_start(instance, script.flags, is_read_only=is_read_only)
        is_read_only = is_read_only or b"no-writes" in script.flags
    elif instance.gates & GATE_STALE:
        raise ReplyError(errors.MASTER_DOWN)
    scripting: Scripting = instance.feature(Scripting)
    running = running_script(client, script.sha, argv.words(), False, is_read_only)
    running.allows_growth = script.has_shebang and b"allow-oom" in script.flags
    if script.has_shebang:
        running.slot = first_slot(instance, script.flags, keys)
    return scripting.run(running, scripting.script_interpreter(), script.function, keys, rest)


def first_slot(instance: Instance, flags: frozenset[bytes], keys: Argv) -> int:
    """`Running.slot` of a script that declares flags: that of the keys it declares, if it must keep
    to one slot. Source: Redis 8.2.
    """
    if b"allow-cross-slot-keys" in flags:
        return ANY_SLOT
    return key_slot(keys[0]) if keys and instance.is_cluster else NO_SLOT


def refuse_at_start(instance: Instance, flags: frozenset[bytes], *, is_read_only: bool) -> None:
    """Raise ReplyError if EVAL_RO or the like is asked to run a script that may write, or a node
    of a cluster one that is not for clusters.

    Whether the state of the server forbids it is checked before, by `request_flags`.
    """
    if is_read_only and b"no-writes" not in flags:
        raise ReplyError(b"ERR Can not execute a script with write flag using *_ro command.")
    if instance.is_cluster and b"no-cluster" in flags:
        raise ReplyError(b"ERR Can not run script on cluster, 'no-cluster' flag is set.")


def request_flags(instance: Instance, command: Command, argv: Request) -> int:
    """The flags of the command, or of the script or function that it runs.

    A script with a shebang, or a function, counts as a write unless it declares `no-writes`, runs
    on stale data only if it declares `allow-stale`, and while memory is short only with one of
    `no-writes` and `allow-oom`. A script without a shebang has the flags
    of EVAL: only its commands show what it does. Source: observed with Redis 7.0.15 and 8.2.3.
    """
    declared = _declared(instance, command.fullname, argv)
    if declared is None:
        return command.flags
    flags = command.flags & ~(MAY_REPLICATE | STALE)
    if b"no-writes" not in declared:
        flags |= WRITE if b"allow-oom" in declared else WRITE | DENYOOM
    if b"allow-stale" in declared:
        flags |= STALE
    return flags


def _declared(instance: Instance, name: bytes, argv: Request) -> frozenset[bytes] | None:
    """The flags in the source; None if it declares none, or cannot be found or read."""
    if name in _BY_SOURCE:
        return _declared_by(argv[1])
    if name in _BY_SHA1:
        script = instance.feature(Scripting).scripts.find(argv[1])
        return script.flags if script is not None and script.has_shebang else None
    if name in _BY_NAME:
        registered = instance.feature(Scripting).libraries.find(argv[1])
        return None if registered is None else registered.flags
    return None


def _declared_by(body: bytes) -> frozenset[bytes] | None:
    try:
        script = parse_script(body)
    except ReplyError:
        return None  # the handler reports it
    return script.flags if script.has_shebang else None
