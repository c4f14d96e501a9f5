"""EVAL, EVALSHA, EVAL_RO and EVALSHA_RO."""

from __future__ import annotations

from commands.core.client import Client
from commands.core.instance import (
    GATE_FEW_REPLICAS,
    GATE_READ_ONLY,
    GATE_STALE,
    GATE_WRITES_REFUSED,
)
from commands.core.registry import (
    MAY_REPLICATE,
    MOVABLE_KEYS,
    NO_MANDATORY_KEYS,
    NOSCRIPT,
    READONLY,
    SKIP_MONITOR,
    STALE,
    Argv,
    Reply,
    command,
    counted_keys,
)
from commands.scripting.running import Running
from commands.scripting.script_cache import Script
from commands.server.monitor import feed_monitors
from protocol import errors
from protocol.errors import ReplyError
from storage.values import as_int64

COMMON_FLAGS = NOSCRIPT | STALE | SKIP_MONITOR | NO_MANDATORY_KEYS | MOVABLE_KEYS
MAY_WRITE_KEYS = counted_keys(b"RW", b"ACCESS", b"UPDATE", at=2)
READ_KEYS = counted_keys(b"RO", b"ACCESS", at=2)
_NO_SCRIPT = b"NOSCRIPT No matching script. Please use EVAL."
_SHA_LENGTH = 40
_COUNTS = {b"%d" % count: count for count in range(10)}  # as most requests have them


def split_arguments(argv: Argv, not_a_number: bytes = errors.NOT_AN_INTEGER) -> tuple[Argv, Argv]:
    """Split into keys and other arguments. Raises ReplyError."""
    count = _COUNTS.get(argv[2])
    if count is None:
        count = as_int64(argv[2])
    if count is None:
        raise ReplyError(not_a_number)
    if count > len(argv) - 3:
        raise ReplyError(b"ERR Number of keys can't be greater than number of args")
    if count < 0:
        raise ReplyError(b"ERR Number of keys can't be negative")
    return argv[3 : 3 + count], argv[3 + count :]


@command(
    "EVAL",
    arity=-3,
    flags=COMMON_FLAGS | MAY_REPLICATE,
    keys=MAY_WRITE_KEYS,
    group="scripting",
    since="2.6.0",
    summary="Runs a script in Lua.",
    syntax="script numkeys [key [key ...]] [arg [arg ...]]",
    complexity="Depends on the script that is executed.",
)
def eval_(client: Client, argv: Argv) -> Reply:
    """What the script returns."""
    return _evaluate(client, argv, is_read_only=False)


@command(
    "EVALSHA",
    arity=-3,
    flags=COMMON_FLAGS | MAY_REPLICATE,
    keys=MAY_WRITE_KEYS,
    group="scripting",
    since="2.6.0",
    summary="Runs a script of the cache, by its SHA1.",
    syntax="sha1 numkeys [key [key ...]] [arg [arg ...]]",
    complexity="Depends on the script that is executed.",
)
def evalsha(client: Client, argv: Argv) -> Reply:
    """What the script returns. NOSCRIPT if no script has that SHA1."""
    return _evaluate_cached(client, argv, is_read_only=False)


@command(
    "EVAL_RO",
    arity=-3,
    flags=COMMON_FLAGS | READONLY,
    keys=READ_KEYS,
    group="scripting",
    since="7.0.0",
    summary="Runs a script in Lua that changes nothing.",
    syntax="script numkeys [key [key ...]] [arg [arg ...]]",
    complexity="Depends on the script that is executed.",
)
def eval_ro(client: Client, argv: Argv) -> Reply:
    """As EVAL; commands that write are refused."""
    return _evaluate(client, argv, is_read_only=True)


@command(
    "EVALSHA_RO",
    arity=-3,
    flags=COMMON_FLAGS | READONLY,
    keys=READ_KEYS,
    group="scripting",
    since="7.0.0",
    summary="Runs a script of the cache that changes nothing, by its SHA1.",
    syntax="sha1 numkeys [key [key ...]] [arg [arg ...]]",
    complexity="Depends on the script that is executed.",
)
def evalsha_ro(client: Client, argv: Argv) -> Reply:
    """As EVALSHA; commands that write are refused."""
    return _evaluate_cached(client, argv, is_read_only=True)


def _evaluate(client: Client, argv: Argv, *, is_read_only: bool) -> Reply:
    show(client, argv)
    keys, arguments = split_arguments(argv)
    script = client.instance.scripting.scripts.take(argv[1], is_loaded=False)
    return _start(client, argv, script, keys, arguments, is_read_only)


def _evaluate_cached(client: Client, argv: Argv, *, is_read_only: bool) -> Reply:
    show(client, argv)
    if len(argv[1]) != _SHA_LENGTH:
        raise ReplyError(_NO_SCRIPT)
    keys, arguments = split_arguments(argv)
    script = client.instance.scripting.scripts.find(argv[1])
    if script is None:
        raise ReplyError(_NO_SCRIPT)
    return _start(client, argv, script, keys, arguments, is_read_only)


def show(client: Client, argv: Argv) -> None:
    """Monitors see the script before its commands."""
    if client.instance.monitors:
        feed_monitors(client.instance, client, argv)


def _start(
    client: Client, argv: Argv, script: Script, keys: Argv, rest: Argv, is_read_only: bool
) -> Reply:
    instance = client.instance
    if script.has_shebang:
        refuse_at_start(client, script.flags, is_read_only=is_read_only)
        is_read_only = is_read_only or b"no-writes" in script.flags
    elif instance.gates & GATE_STALE:
        raise ReplyError(errors.MASTER_DOWN)
    scripting = instance.scripting
    running = Running(client, script.sha, argv, is_read_only=is_read_only)
    return scripting.run(running, scripting.interpreter, script.function, keys, rest)


def refuse_at_start(client: Client, flags: frozenset[bytes], *, is_read_only: bool) -> None:
    """Raise ReplyError if a script with these flags must not start now."""
    instance = client.instance
    gates = instance.gates
    if gates & GATE_STALE and b"allow-stale" not in flags:
        raise ReplyError(
            b"MASTERDOWN Link with MASTER is down, replica-serve-stale-data is set to 'no' and"
            b" 'allow-stale' flag is not set on the script."
        )
    if b"no-writes" in flags:
        return
    if is_read_only:
        raise ReplyError(b"ERR Can not execute a script with write flag using *_ro command.")
    if gates & GATE_READ_ONLY and not client.replays:
        raise ReplyError(b"READONLY Can not run script with write flag on readonly replica")
    if gates & GATE_WRITES_REFUSED:
        raise _disk_refusal(instance.write_refusal)
    if gates & GATE_FEW_REPLICAS:
        raise ReplyError(errors.NO_REPLICAS)


def _disk_refusal(refusal: ReplyError | None) -> ReplyError:
    blocked = b" Writable scripts are blocked. Use 'no-writes' flag for read only scripts."
    if refusal is not None and b"AOF" in refusal.text:
        return ReplyError(
            b"MISCONF Redis is configured to persist data to AOF, but it's currently unable to"
            b" persist to disk.%b AOF error: %b" % (blocked, refusal.text.rpartition(b": ")[2])
        )
    return ReplyError(
        b"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist"
        b" to disk." + blocked
    )
