"""COMMAND: the table of commands as clients see it, its documentation, the keys of a request.

Everything derives from the declarations (commands/core/registry.py) and from the families' tables
(commands/documentation.py). The ACL categories of a command follow from its flags and its
group. redis-cli shows COMMAND DOCS as hints and help.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from commands.core.arguments import Arguments
from commands.core.client import Client
from commands.core.registry import (
    ADMIN,
    BLOCKING,
    FAST,
    FLAG_NAMES,
    LOADING,
    NO_MANDATORY_KEYS,
    PUBSUB,
    READONLY,
    STALE,
    WRITE,
    Command,
    CommandTable,
    KeySpec,
    command,
)
from commands.documentation import help_reply, row_of
from commands.keys.pattern import matches
from commands.server.syntax import Argument, parse_syntax
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from protocol.requests import Argv

# All of them, in the order of ACL CAT.
CATEGORIES = (
    "keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap",
    "hyperloglog", "geo", "stream", "pubsub", "admin", "fast", "slow", "blocking", "dangerous",
    "connection", "transaction", "scripting",
)  # fmt: skip
_GROUP_CATEGORIES = {
    "generic": "keyspace",
    "string": "string",
    "list": "list",
    "set": "set",
    "sorted-set": "sortedset",
    "hash": "hash",
    "bitmap": "bitmap",
    "hyperloglog": "hyperloglog",
    "geo": "geo",
    "stream": "stream",
    "transactions": "transaction",
    "connection": "connection",
    "scripting": "scripting",
}

_NAMED_BY_GROUPS = frozenset(_GROUP_CATEGORIES.values())


def acl_categories(command: Command) -> list[bytes]:
    """The ACL categories, with their @, as COMMAND INFO prints them."""
    if command.handler is None:
        return [b"@slow"]  # a container has the categories of its sub-commands
    row = row_of(command)
    names: list[str] = []
    if command.flags & WRITE:
        names.append("write")
    if command.flags & READONLY and row.group != "scripting":
        names.append("read")
    # WAIT is in the group of those that work on keys of any type, and works on none; SORT on some.
    has_own = not _NAMED_BY_GROUPS.isdisjoint(row.categories)
    if row.group in _GROUP_CATEGORIES and not has_own:
        names.append(_GROUP_CATEGORIES[row.group])
    if command.flags & ADMIN:
        names += ["admin", "dangerous"]
    if command.flags & PUBSUB:
        names.append("pubsub")
    names.append("fast" if command.flags & FAST else "slow")
    if command.flags & BLOCKING:
        names.append("blocking")
    names += [name for name in row.categories if name not in names]
    return [b"@" + name.encode() for name in names]


@command("COMMAND", arity=-1, flags=LOADING | STALE)
def command_all(client: Client, argv: Request) -> bytes:
    """An array with one description per command, in no promised order."""
    return _describe_all(client)


@command("COMMAND COUNT", arity=2, flags=LOADING | STALE)
def command_count(client: Client, argv: Request) -> bytes:
    """Sub-commands are not counted."""
    return replies.integer(len(_names(client)))


@command("COMMAND INFO", arity=-2, flags=LOADING | STALE)
def command_info(client: Client, argv: Request) -> bytes:
    """Array of descriptions, null for an unknown name. Sub-commands are named `config|get`."""
    if len(argv) == 2:
        return _describe_all(client)
    names, resp = _names(client), client.resp
    described: dict[bytes, bytes] = {}  # by full names
    items: list[bytes] = []
    for name in argv[2:]:
        found = find_command(name, names)
        if found is not None and found.fullname not in described:
            described[found.fullname] = describe(found, resp)
        items.append(replies.NIL[resp] if found is None else described[found.fullname])
    return replies.array(items)


@command("COMMAND LIST", arity=-2, flags=LOADING | STALE)
def command_list(client: Client, argv: Request) -> bytes:
    """An array of names."""
    accepts = _filter(Arguments(argv, 2))
    found = all_commands(_names(client))
    return replies.bulk_array([one.fullname for one in found if accepts(one)])


def _filter(arguments: Arguments) -> Callable[[Command], bool]:
    """The predicate of FILTERBY; without it, all commands."""
    if not arguments:
        return lambda declared: True
    if not arguments.take(b"FILTERBY"):
        raise ReplyError(errors.SYNTAX)
    kind, value = arguments.next_keyword(), arguments.next()
    arguments.finish()
    if kind == b"MODULE":
        return lambda declared: False  # there are no modules
    if kind == b"ACLCAT":
        category = b"@" + value.lower()
        return lambda declared: category in acl_categories(declared)
    if kind == b"PATTERN":
        return lambda declared: matches(value, declared.fullname, ignore_case=True)
    raise ReplyError(errors.SYNTAX)


@command("COMMAND HELP", arity=2, flags=LOADING | STALE)
def command_help(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2, for the shape."""
    return help_reply(
        b"COMMAND",
        b"(no subcommand)",
        b"    Describe every command.",
        b"COUNT",
        b"    How many commands there are.",
        b"LIST [FILTERBY <MODULE name | ACLCAT category | PATTERN pattern>]",
        b"    The names of all commands and sub-commands, or of some.",
        b"INFO [<command-name> ...]",
        b"    Describe the named commands, or all.",
        b"DOCS [<command-name> ...]",
        b"    Document the named commands, or all.",
        b"GETKEYS <full-command>",
        b"    The keys in a request.",
        b"GETKEYSANDFLAGS <full-command>",
        b"    The keys in a request, and what it does with each.",
    )


# -- the table -----------------------------------------------------------------------------------


def _names(client: Client) -> dict[bytes, Command]:
    return client.instance.feature(CommandTable).by_name


def all_commands(by_name: Mapping[bytes, Command]) -> Iterator[Command]:
    """Every command of a table, each followed by its sub-commands."""
    for declared in by_name.values():
        yield declared
        yield from declared.subcommands.values()


def find_command(name: bytes, by_name: Mapping[bytes, Command]) -> Command | None:
    """A command by its full name in any case, e.g. b"xadd" or b"XGROUP|CREATE"."""
    container, bar, sub = name.lower().partition(b"|")
    declared = by_name.get(container)
    if declared is None or not bar:
        return declared
    return declared.subcommands.get(sub)


def _describe_all(client: Client) -> bytes:
    return replies.array([describe(one, client.resp) for one in _names(client).values()])


def describe(declared: Command, resp: int) -> bytes:
    """One element of COMMAND: name, arity, flags, keys, categories, tips, sub-commands."""
    tips = row_of(declared).tips
    first, last, step = legacy_range(declared.keys)
    names = [name for flag, name in FLAG_NAMES.items() if declared.flags & flag]
    return replies.array(
        [
            replies.bulk(declared.fullname),
            replies.integer(declared.arity),
            status_set(names, resp),
            replies.integer(first),
            replies.integer(last),
            replies.integer(step),
            status_set(acl_categories(declared), resp),
            replies.set_header(len(tips), resp)
            + b"".join(replies.bulk(tip.encode()) for tip in tips),
            replies.set_header(len(declared.keys), resp)
            + b"".join(describe_keys(spec, resp) for spec in declared.keys),
            replies.set_header(len(declared.subcommands), resp)
            + b"".join(describe(sub, resp) for sub in declared.subcommands.values()),
        ]
    )


def status_set(words: Iterable[bytes], resp: int) -> bytes:
    """A set of simple strings."""
    encoded = [replies.simple(word) for word in words]
    return replies.set_header(len(encoded), resp) + b"".join(encoded)


def legacy_range(keys: tuple[KeySpec, ...]) -> tuple[int, int, int]:
    """First key, last key and step, the form that Redis used before key specifications.

    (0, 0, 0) without keys, and where keys are counted or follow a keyword.
    """
    plain = [spec for spec in keys if not (spec.keyword or spec.is_counted or spec.is_unknown)]
    if not plain:
        return 0, 0, 0
    first, last = plain[0].begin, plain[0].last
    last = first + last if last >= 0 else last
    for spec in plain[1:]:
        if last < 0 or spec.begin != last + 1:
            break
        last = spec.begin + spec.last if spec.last >= 0 else spec.last
    return first, last, plain[0].step


def shown_key_flag(flag: bytes) -> bytes:
    """RO, RW, OW and RM in upper case, the others (access, update, ...) in lower case."""
    return flag.upper() if len(flag) == 2 else flag.lower()


def describe_keys(spec: KeySpec, resp: int) -> bytes:
    """A key specification: flags, where the search begins, how keys are found from there."""
    begin_type = b"index"
    begin: dict[bytes, bytes | int] = {b"index": spec.begin}
    if spec.keyword:
        begin_type, begin = b"keyword", {b"keyword": spec.keyword, b"startfrom": spec.begin}
    find_type = b"range"
    found = {b"lastkey": spec.last, b"keystep": spec.step, b"limit": spec.limit}
    if spec.is_counted:
        find_type, found = b"keynum", {b"keynumidx": 0, b"firstkey": 1, b"keystep": spec.step}
    if spec.is_unknown:
        begin_type = find_type = b"unknown"
        begin, found = {}, {}
    return replies.mapping(
        [
            replies.bulk(b"flags"),
            status_set(map(shown_key_flag, spec.flags), resp),
            replies.bulk(b"begin_search"),
            _typed(begin_type, begin, resp),
            replies.bulk(b"find_keys"),
            _typed(find_type, found, resp),
        ],
        resp,
    )


def _typed(kind: bytes, spec: Mapping[bytes, bytes | int], resp: int) -> bytes:
    items: list[bytes] = []
    for name, value in spec.items():
        items.append(replies.bulk(name))
        items.append(replies.integer(value) if type(value) is int else replies.bulk(bytes(value)))
    return replies.mapping(
        [
            replies.bulk(b"type"),
            replies.bulk(kind),
            replies.bulk(b"spec"),
            replies.mapping(items, resp),
        ],
        resp,
    )


@command("COMMAND DOCS", arity=-2, flags=LOADING | STALE)
def command_docs(client: Client, argv: Request) -> bytes:
    """A map from names to maps; names that are not known are left out."""
    names = client.instance.feature(CommandTable).by_name
    if len(argv) == 2:
        wanted = list(names.values())
    else:
        wanted = [found for name in argv[2:] if (found := find_command(name, names)) is not None]
    by_name = {found.fullname: found for found in wanted}
    documented = {name: _name(one) + document(one, client.resp) for name, one in by_name.items()}
    parts = [documented[found.fullname] for found in wanted]
    return replies.map_header(len(parts), client.resp) + b"".join(parts)


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


_NOT_A_KEY = b"not_key"  # a place that is routed like a key: the channel of SPUBLISH


@command("COMMAND GETKEYS", arity=-3, flags=LOADING | STALE)
def command_getkeys(client: Client, argv: Request) -> bytes:
    """An array of keys, in the order of the key specifications."""
    request = argv[2:]
    return replies.bulk_array([request[position] for position, _ in _keys(client, request)])


@command("COMMAND GETKEYSANDFLAGS", arity=-3, flags=LOADING | STALE)
def command_getkeysandflags(client: Client, argv: Request) -> bytes:
    """An array of pairs: key, set of flags."""
    request = argv[2:]
    return replies.array(
        [
            replies.array([replies.bulk(request[position]), status_set(flags, client.resp)])
            for position, flags in _keys(client, request)
        ]
    )


def _keys(client: Client, request: Argv) -> list[tuple[int, list[bytes]]]:
    """Positions of the keys with their flags. Raises ReplyError."""
    declared = client.instance.feature(CommandTable).find(request)
    if declared is None:
        raise ReplyError(b"ERR Invalid command specified")
    specs = [spec for spec in declared.keys if _NOT_A_KEY not in _shown(spec)]
    if not specs:
        raise ReplyError(b"ERR The command has no key arguments")
    if not declared.accepts(len(request)):
        raise ReplyError(b"ERR Invalid number of arguments specified for command")
    found = [
        (position, _flags(spec, request)) for spec in specs for position in spec.positions(request)
    ]
    if not found and not declared.flags & NO_MANDATORY_KEYS:
        raise ReplyError(b"ERR Invalid arguments specified for command")
    return found


def _flags(spec: KeySpec, request: Argv) -> list[bytes]:
    """Return the flags of the request's keys, which may depend on its options."""
    return [shown_key_flag(flag) for flag in spec.flags_in(request)]


def _shown(spec: KeySpec) -> list[bytes]:
    return [shown_key_flag(flag) for flag in spec.flags]
