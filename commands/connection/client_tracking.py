"""CLIENT TRACKING, TRACKINGINFO, CACHING and GETREDIR: client-side caching, switched on and off.

What tracking does is in commands/connection/invalidation_table.py.

Source: Redis 7.2.
"""

from __future__ import annotations

from commands.connection.invalidation_table import TrackingState, TrackingTable
from commands.core.arguments import Arguments
from commands.core.client import Client, Clients
from commands.core.registry import LOADING, NOSCRIPT, STALE, command
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request

_FLAGS = NOSCRIPT | LOADING | STALE


@command("CLIENT TRACKING", arity=-3, flags=_FLAGS)
def client_tracking(client: Client, argv: Request) -> bytes:
    """Errors: options that exclude each other or the current mode; an unknown client ID."""
    wanted, table = _parse(client, Arguments(argv, 3)), client.instance.feature(TrackingTable)
    switch = argv[2].upper()
    if switch == b"ON":
        current = table.states.get(client)
        _check(wanted, current)
        if wanted.bcast:
            wanted.prefixes = _all_prefixes(wanted.prefixes, current)
        table.start(client, wanted)
    elif switch == b"OFF":
        table.forget(client)
    else:
        raise ReplyError(errors.SYNTAX)
    return replies.OK


def _parse(client: Client, arguments: Arguments) -> TrackingState:
    wanted = TrackingState()
    while arguments:
        option = arguments.next_keyword()
        if option == b"REDIRECT":
            if wanted.redirect:
                raise ReplyError(errors.REDIRECT_TWICE)
            clients = client.instance.feature(Clients).by_id
            wanted.redirect = clients.get(arguments.next_int())
            if wanted.redirect is None:
                raise ReplyError(errors.REDIRECT_TO_NOBODY)
        elif option == b"PREFIX":
            wanted.prefixes.append(arguments.next())
        elif option == b"BCAST":
            wanted.bcast = True
        elif option == b"OPTIN":
            wanted.optin = True
        elif option == b"OPTOUT":
            wanted.optout = True
        elif option == b"NOLOOP":
            wanted.noloop = True
        else:
            raise ReplyError(errors.SYNTAX)
    return wanted


def _check(wanted: TrackingState, current: TrackingState | None) -> None:
    """Refuse options that exclude each other, or the mode that the client is in."""
    if wanted.prefixes and not wanted.bcast:
        raise ReplyError(errors.PREFIX_WITHOUT_BCAST)
    if current is not None and current.bcast != wanted.bcast:
        raise ReplyError(errors.SWITCH_BCAST)
    if wanted.bcast and (wanted.optin or wanted.optout):
        raise ReplyError(errors.OPT_WITH_BCAST)
    if wanted.optin and wanted.optout:
        raise ReplyError(errors.OPTIN_WITH_OPTOUT)
    if current is not None:
        turns_in = wanted.optin and current.optout
        turns_out = wanted.optout and current.optin
        if turns_in or turns_out:
            raise ReplyError(errors.SWITCH_OPT)


def _all_prefixes(wanted: list[bytes], current: TrackingState | None) -> list[bytes]:
    """The prefixes so far and the new ones; no prefix at all means every key.

    Raises ReplyError if two overlap, since a client would get the same key twice.
    """
    existing = current.prefixes if current is not None else []
    for position, prefix in enumerate(wanted):
        for other in existing:
            if _overlap(prefix, other):
                raise errors.prefix_overlaps_existing(prefix, other)
        for other in wanted[position + 1 :]:
            if _overlap(prefix, other):
                raise errors.prefix_overlaps_provided(prefix, other)
    return sorted({*existing, *(wanted or [b""])})


def _overlap(one: bytes, other: bytes) -> bool:
    return one.startswith(other) or other.startswith(one)


@command("CLIENT CACHING", arity=3, flags=_FLAGS)
def client_caching(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2."""
    state = client.instance.feature(TrackingTable).states.get(client)
    if state is None:
        raise ReplyError(errors.CACHING_WITHOUT_TRACKING)
    word = argv[2].upper()
    if word == b"YES":
        if not state.optin:
            raise ReplyError(errors.CACHING_YES_WITHOUT_OPTIN)
    elif word == b"NO":
        if not state.optout:
            raise ReplyError(errors.CACHING_NO_WITHOUT_OPTOUT)
    else:
        raise ReplyError(errors.SYNTAX)
    state.caching = True
    return replies.OK


@command("CLIENT GETREDIR", arity=2, flags=_FLAGS)
def client_getredir(client: Client, argv: Request) -> bytes:
    """The client ID; 0 for the connection itself, -1 without tracking. Source: Redis 7.2."""
    return replies.integer(_redirection(client))


def _redirection(client: Client) -> int:
    state = client.instance.feature(TrackingTable).states.get(client)
    return -1 if state is None else state.redirect_id


@command("CLIENT TRACKINGINFO", arity=2, flags=_FLAGS)
def client_trackinginfo(client: Client, argv: Request) -> bytes:
    """A map: flags (a set), redirect (as CLIENT GETREDIR), prefixes. Source: Redis 7.2."""
    state = client.instance.feature(TrackingTable).states.get(client)
    flags = [replies.bulk(flag) for flag in _flags(state)]
    items = [
        replies.bulk(b"flags"),
        replies.set_header(len(flags), client.resp) + b"".join(flags),
        replies.bulk(b"redirect"),
        replies.integer(_redirection(client)),
        replies.bulk(b"prefixes"),
        replies.bulk_array(state.prefixes if state is not None else []),
    ]
    return replies.mapping(items, client.resp)


def _flags(state: TrackingState | None) -> list[bytes]:
    if state is None:
        return [b"off"]
    flags = [
        (b"on", True),
        (b"bcast", state.bcast),
        (b"optin", state.optin),
        (b"caching-yes", state.optin and state.caching),
        (b"optout", state.optout),
        (b"caching-no", state.optout and state.caching),
        (b"noloop", state.noloop),
        (b"broken_redirect", state.broken),
    ]
    return [flag for flag, is_set in flags if is_set]
