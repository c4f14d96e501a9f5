"""COMMAND DOCS: the documentation that redis-cli shows as hints and help."""

from __future__ import annotations

from commands.core.client import Client
from commands.core.documentation import row_of
from commands.core.registry import LOADING, STALE, Command, CommandTable, command
from commands.server.command.syntax import Argument, parse_syntax
from commands.server.command.table import find_command, status_set
from protocol import replies
from protocol.request import Request


@command("COMMAND DOCS", arity=-2, flags=LOADING | STALE)
def command_docs(client: Client, argv: Request) -> bytes:
    """A map from names to maps; names that are not known are left out."""
    names = client.instance.feature(CommandTable).by_name
    if len(argv) == 2:
        wanted = list(names.values())
    else:
        wanted = [found for name in argv[2:] if (found := find_command(name, names)) is not None]
    items = [reply for found in wanted for reply in (_name(found), document(found, client.resp))]
    return replies.mapping(items, client.resp)


def _name(declared: Command) -> bytes:
    return replies.bulk(declared.fullname)


def document(declared: Command, resp: int) -> bytes:
    """The documentation of one command, its sub-commands included."""
    row = row_of(declared)
    items = _texts(
        summary=row.summary,
        since=row.since,
        group=row.group,
        complexity=row.complexity if declared.handler else "Depends on subcommand.",
    )
    if row.deprecated:
        since, instead = row.deprecated
        items += [replies.bulk(b"doc_flags"), status_set([b"deprecated"], resp)]
        items += _texts(deprecated_since=since, replaced_by=instead)
    if row.history:
        lines = [_bulks(version, change) for version, change in row.history]
        items += [replies.bulk(b"history"), replies.set_header(len(lines), resp) + b"".join(lines)]
    arguments = parse_syntax(row.syntax, declared.fullname.decode(), len(declared.keys))
    if arguments:
        items += [replies.bulk(b"arguments"), _arguments(arguments, resp)]
    if declared.subcommands:
        subs = declared.subcommands.values()
        documented = [reply for sub in subs for reply in (_name(sub), document(sub, resp))]
        items += [replies.bulk(b"subcommands"), replies.mapping(documented, resp)]
    return replies.mapping(items, resp)


def _arguments(arguments: list[Argument], resp: int) -> bytes:
    return replies.array([_argument(argument, resp) for argument in arguments])


def _argument(argument: Argument, resp: int) -> bytes:
    items = _texts(name=argument.name, type=argument.type)
    if not argument.arguments:
        items += _texts(display_text=argument.name)
    if argument.key_spec_index is not None:
        items += [replies.bulk(b"key_spec_index"), replies.integer(argument.key_spec_index)]
    if argument.token:
        items += _texts(token=argument.token)
    flags = [
        flag
        for flag, is_set in (
            (b"optional", argument.optional),
            (b"multiple", argument.multiple),
            (b"multiple_token", argument.multiple_token),
        )
        if is_set
    ]
    if flags:
        items += [replies.bulk(b"flags"), status_set(flags, resp)]
    if argument.arguments:
        items += [replies.bulk(b"arguments"), _arguments(argument.arguments, resp)]
    return replies.mapping(items, resp)


def _texts(**values: str) -> list[bytes]:
    """Keys and values of a map, alternating."""
    return [replies.bulk(text.encode()) for pair in values.items() for text in pair]


def _bulks(*texts: str) -> bytes:
    return replies.bulk_array([text.encode() for text in texts])
