"""CONFIG GET, SET, RESETSTAT, REWRITE, HELP.

CONFIG SET is atomic: values that were set already are rolled back when a later one is refused, or
when the server cannot apply it (a port in use, a folder that does not exist). `is_allowed` checks
access to what is off by default: protected directives, and DEBUG.
"""

from __future__ import annotations

from collections.abc import Iterator

from commands.acl.access_control import AccessControl
from commands.cluster.slot_stats import SlotStats
from commands.config.configuration import DIRECTIVES, HIDDEN, NAMES, is_known
from commands.connection.client_memory import MemoryUse
from commands.connection.invalidation_table import TrackingTable
from commands.core.client import Client
from commands.core.instance import Instance
from commands.core.registry import ADMIN, LOADING, NOSCRIPT, STALE, command
from commands.documentation import help_reply
from commands.keys.pattern import matches
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request


def is_local(client: Client) -> bool:
    """Return True for a client on this machine: a Unix socket, the loopback, or no connection."""
    address = client.address
    return client.connection.unix_socket or not address or address.startswith((b"127.", b"[::1]:"))


def is_allowed(setting: str, client: Client) -> bool:
    """Return True if a directive such as enable-debug-command (yes, no, local) allows `client`."""
    return setting == "yes" or (setting == "local" and is_local(client))


FLAGS = ADMIN | NOSCRIPT | LOADING | STALE


@command("CONFIG GET", arity=-3, flags=FLAGS)
def config_get(client: Client, argv: Request) -> bytes:
    """A map. Names and glob patterns, without regard to case."""
    config = client.instance.config
    wanted = dict.fromkeys(name for pattern in argv[2:] for name in _matching(pattern))
    texts = [text for name in wanted for text in (name, config.get(name))]
    return replies.mapping([replies.bulk(_encode(text)) for text in texts], client.resp)


def _matching(pattern: bytes) -> Iterator[str]:
    name = _decode(pattern).lower()
    if name in NAMES:
        yield name
        return
    if not any(mark in pattern for mark in b"*?["):
        return  # as in Redis; it also avoids a comparison with every name
    for name in NAMES:
        if name not in HIDDEN and matches(pattern, name.encode(), ignore_case=True):
            yield name


@command("CONFIG SET", arity=-4, flags=FLAGS)
def config_set(client: Client, argv: Request) -> bytes:
    """OK, or an error and none of the pairs is set."""
    if len(argv) % 2:
        raise ReplyError(errors.SYNTAX)
    pairs: dict[str, str] = {}
    for i in range(2, len(argv), 2):
        name = _decode(argv[i])
        if not is_known(name.lower()):
            raise _unknown(name)
        name = name.lower()
        _check_changeable(client, name)
        if any(_is_same(name, other) for other in pairs):
            raise _failed(name, "duplicate parameter")
        pairs[name] = _decode(argv[i + 1])
    values = vars(client.instance.config)
    before = dict(values)
    try:
        _set_values(client, pairs)
        _apply(client, pairs, before)
    except ReplyError:
        values.update(before)
        raise
    if "requirepass" in pairs:  # also with the value that it has: the user may have another
        client.instance.feature(AccessControl).set_default_password(pairs["requirepass"])
    if "user-limit" in pairs:
        client.instance.feature(AccessControl).look_up_limits()
    if "cluster-slot-stats-enabled" in pairs:
        client.instance.feature(SlotStats).look_up()
    _log_inert(client, pairs)
    if "maxmemory" in pairs:
        _warn_of_limit(client.instance)
    if "tracking-table-max-keys" in pairs:
        client.instance.feature(TrackingTable).limit()
    return replies.OK


def _warn_of_limit(instance: Instance) -> None:
    """Log it if more memory is in use than is allowed now."""
    limit, used = instance.config.maxmemory, instance.feature(MemoryUse).used_bytes()
    if 0 < limit < used:
        instance.host.log(
            "warning",
            f"WARNING: the new maxmemory value set via CONFIG SET ({limit}) is smaller than the"
            f" current memory usage ({used}). This will result in key eviction and/or the inability"
            " to accept new write commands depending on the maxmemory-policy.",
        )


def _log_inert(client: Client, pairs: dict[str, str]) -> None:
    """Log which of the directives that were set have no effect."""
    inert = [name for name in pairs if name in DIRECTIVES and DIRECTIVES[name].inert]
    if inert:
        client.instance.host.log("notice", f"CONFIG SET: without effect here: {', '.join(inert)}")


def _is_same(name: str, other: str) -> bool:
    """Return True for two names of one directive."""
    return name == other or (name in DIRECTIVES and DIRECTIVES[name] is DIRECTIVES.get(other))


def _check_changeable(client: Client, name: str) -> None:
    """Raise ReplyError for a directive that this client cannot change while the server runs."""
    directive = DIRECTIVES.get(name)
    if directive is None:
        return
    if directive.immutable:
        raise _failed(name, "can't set immutable config")
    setting = client.instance.config.enable_protected_configs
    if directive.protected and not is_allowed(setting, client):
        raise _failed(name, "can't set protected config")


def _set_values(client: Client, pairs: dict[str, str]) -> None:
    """Set every value. Raises ReplyError; the caller then restores the old values."""
    for name, text in pairs.items():
        try:
            client.instance.config.set(name, [text])
        except ValueError as error:
            raise _failed(name, str(error)) from None


def _apply(client: Client, pairs: dict[str, str], before: dict[str, object]) -> None:
    """Apply the new values to the server; restore the old ones if that fails.

    Those of TLS are applied even if they are the old ones: their files may have changed.
    """
    values, host = vars(client.instance.config), client.instance.host
    changed = [
        found
        for name in pairs
        if (found := DIRECTIVES.get(name)) is not None
        and (values[found.attribute] != before[found.attribute] or name.startswith("tls-"))
    ]
    for position, directive in enumerate(changed):
        try:
            host.apply_config([directive.name])
        except ValueError as error:
            values.update(before)
            for applied in changed[:position]:
                host.apply_config([applied.name])
            raise _failed(directive.name, str(error)) from None


@command("CONFIG RESETSTAT", arity=2, flags=FLAGS)
def config_resetstat(client: Client, argv: Request) -> bytes:
    """Statistics of commands and errors too, as Redis does."""
    client.instance.stats.reset()
    client.instance.feature(SlotStats).reset()
    client.instance.persistence.reset_counts()
    client.instance.replication.reset_counts()
    return replies.OK


@command("CONFIG REWRITE", arity=2, flags=FLAGS)
def config_rewrite(client: Client, argv: Request) -> bytes:
    """Refused without a file; the file stays as it was when it cannot be written."""
    try:
        client.instance.host.rewrite_config()
    except ValueError as error:
        raise ReplyError(_encode(f"ERR {error}")) from None
    except OSError as error:
        raise ReplyError(_encode(f"ERR Rewriting config file: {error.strerror}")) from None
    return replies.OK


@command("CONFIG HELP", arity=2, flags=LOADING | STALE)
def config_help(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2, for the shape."""
    return help_reply(
        b"CONFIG",
        b"GET <pattern> [<pattern> ...]",
        b"    The directives whose names match, with their values.",
        b"SET <directive> <value> [<directive> <value> ...]",
        b"    Change directives, all or none of them.",
        b"RESETSTAT",
        b"    Set the counters that INFO shows to zero.",
        b"REWRITE",
        b"    Write the values in force to the configuration file.",
    )


def _unknown(name: str) -> ReplyError:
    return ReplyError(
        _encode(f"ERR Unknown option or number of arguments for CONFIG SET - '{name}'")
    )


def _failed(name: str, reason: str) -> ReplyError:
    return ReplyError(
        _encode(f"ERR CONFIG SET failed (possibly related to argument '{name}') - {reason}")
    )


def _decode(word: bytes) -> str:
    """Text as the configuration keeps it: bytes that are no UTF-8 survive as surrogates."""
    return word.decode("utf-8", "surrogateescape")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
