"""The audit trail: who did what, as lines of JSON, for the events that `audit-events` selects.

* `auth`: AUTH, HELLO with AUTH, RESET, a login by certificate, and what is refused with NOAUTH,
  WRONGPASS or NOPERM.
* `config`: CONFIG SET, REWRITE and RESETSTAT; ACL SETUSER, DELUSER, LOAD and SAVE.
* `admin`: all commands with the flag ADMIN, those of `config` among them, but REPLCONF.
* `keys-removed`: requests whose purpose is to remove keys, other ones that set a time to live in
  the past, and keys that expire or are evicted.
* `all`: all of these, and each other request.

A line has names: of the user, the client, the command and the keys. It never has a value, an
argument, a password or the text of an error: what a client sends in the place of a command's or a
user's name may be one, so names that the server does not know are left out.

A request of a transaction has its line when EXEC runs it, one of a script when the script calls it,
both before the line of EXEC or EVAL. What a primary or a file repeats has none. A change of
`audit-events` or `audit-required` always has one.

No I/O: the server writes the lines (server/audit_log.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from commands.acl.access_control import AccessControl
from commands.config.configuration import is_known
from commands.core.blocked_clients import Block
from commands.core.client import Client
from commands.core.gates import GATE_AUTH, GATE_MULTI, GATE_PRIMARY, GATE_REPLICA
from commands.core.instance import Instance
from commands.core.registry import ADMIN, Command, CommandTable, Reply
from commands.scripting.calls import ScriptClient
from protocol.request import Request

# The events, the most specific first: a line has the first that its request is one of.
AUTH, CONFIG, ADMINISTRATION, REMOVAL, OTHER = (1 << bit for bit in range(5))
NAMES = {
    AUTH: "auth",
    CONFIG: "config",
    ADMINISTRATION: "admin",
    REMOVAL: "keys-removed",
    OTHER: "request",
}
_BY_WORD = {
    "auth": AUTH,
    "config": CONFIG,
    "admin": ADMINISTRATION | CONFIG,
    "keys-removed": REMOVAL,
    "all": AUTH | CONFIG | ADMINISTRATION | REMOVAL | OTHER,
}
_AUTH = {b"auth", b"reset"}
_CONFIG = {
    b"config|set", b"config|rewrite", b"config|resetstat",
    b"acl|setuser", b"acl|deluser", b"acl|load", b"acl|save",
}  # fmt: skip
# Their purpose is to remove keys: they have a line whatever comes of it.
_REMOVING = {
    b"del", b"unlink", b"delex", b"getdel", b"flushall", b"flushdb",
    b"rename", b"renamenx", b"move", b"migrate",
}  # fmt: skip
# They remove a key if the time that they give it is over: then they have a line.
_EXPIRING = {b"expire", b"pexpire", b"expireat", b"pexpireat", b"getex"}
_COUNTING = {b"del", b"unlink", b"delex"}  # their replies are the number of keys removed
_REFUSALS = {b"NOAUTH", b"NOPERM", b"WRONGPASS"}
_NO_EVENTS = {b"replconf"}  # a replica's sign of life, several times a second

# What a line has at most; `keys_left_out` is the number of the others.
MOST_KEYS = 1000
MOST_KEY_BYTES = 1024
MOST_CODE_BYTES = 32


class AuditTrail:
    """Makes the lines of one instance; `write` takes each, with its line break."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self.write: Callable[[bytes], None] = lambda line: None
        self.lines = 0  # made so far; each has its number
        self.missed = 0  # of them, those that could not be written
        self.is_used = False  # there is an audit log
        self.is_failing = False  # it cannot be written
        self._second, self._when = -1, ""  # of the last line, as a number and as text
        self._encode: Callable[[dict[str, object]], str] = str  # once there is an event
        self._wanted = 0  # events
        self._events: dict[Command, int] = {}  # of each command
        self._users = instance.feature(AccessControl)

    def look_up(self) -> None:
        """Read `audit-events`."""
        instance = self._instance
        wanted = 0
        for word in filter(None, instance.config.audit_events.split(",")):
            wanted |= _BY_WORD[word]
        self._wanted = wanted
        instance.observe_requests(self, is_on=bool(wanted))
        instance.note_removal = self._key_removed if wanted & REMOVAL else None
        self._users.on_certificate = [self._certificate_shown] if wanted & AUTH else []
        if wanted and not self._events:
            from json import JSONEncoder  # few need it: not at the start

            self._encode = JSONEncoder(separators=(",", ":")).encode
            self._classify(instance.feature(CommandTable).by_name)

    def _classify(self, by_name: Mapping[bytes, Command]) -> None:
        for command in by_name.values():
            for each in (command, *command.subcommands.values()):
                self._events[each] = _event_of(each)

    # -- RequestObserver -----------------------------------------------------------------------

    def ran(
        self,
        client: Client,
        command: Command,
        request: Request,
        reply: Reply,
        elapsed_ns: int,
        is_first: bool,
    ) -> None:
        """A request has run, or waits."""
        if not is_first or _repeats(client):
            return
        event = self._events.get(command, OTHER)
        code = _error_code(reply)
        if event == OTHER:
            if code in _REFUSALS:
                event = AUTH
            elif command.fullname == b"hello":
                event = AUTH if _has_auth(request.words()) else OTHER
            elif command.fullname in _EXPIRING and self._has_removed(client, request, reply):
                event = REMOVAL
        if not event & self._wanted and not _changes_audit(command, request):
            return
        outcome = code.decode("latin-1") or ("waits" if isinstance(reply, Block) else "ok")
        more: dict[str, object] = {}
        if command.fullname in _COUNTING and isinstance(reply, bytes) and reply[:1] == b":":
            more["removed"] = int(reply[1:])
        self._add(client, event, command, request.words(), outcome, more)

    def refused(
        self, client: Client, command: Command | None, words: Sequence[bytes], code: bytes
    ) -> None:
        """A request was refused before it ran."""
        if _repeats(client):
            return
        event = OTHER if command is None else self._events.get(command, OTHER)
        if code in _REFUSALS:
            event |= AUTH
        if event & self._wanted:
            event = min(bit for bit in NAMES if bit & event & self._wanted)
            self._add(client, event, command, words, code.decode("latin-1"), {})

    def sent(
        self, client: Client, command: Command, words: Sequence[bytes], size: int, elapsed_us: int
    ) -> None:
        """A long reply was sent: its request has its line already."""

    # -- other events --------------------------------------------------------------------------

    def _key_removed(self, db_index: int, key: bytes, event: bytes) -> None:
        """A key has expired or was evicted."""
        self._write(
            {"event": "keys-removed", "db": db_index, "command": event.decode("latin-1")}
            | {"keys": [_shown(key)], "outcome": "ok"}
        )

    def _certificate_shown(self, client: Client, name: bytes | None) -> None:
        """A client's certificate has named a user, or only unknown ones (None)."""
        fields = _about(client) | {"command": "tls-cert", "keys": []}
        self._write({"event": "auth"} | fields | {"outcome": "NOPERM" if name is None else "ok"})

    # -- lines ---------------------------------------------------------------------------------

    def _add(
        self,
        client: Client,
        event: int,
        command: Command | None,
        words: Sequence[bytes],
        outcome: str,
        more: dict[str, object],
    ) -> None:
        caller = client.caller if isinstance(client, ScriptClient) else client
        fields: dict[str, object] = {"event": NAMES[event]} | _about(caller)
        fields["db"] = client.db.index
        fields["command"] = None if command is None else _text(command.fullname)
        # What a stranger sends is no key, and could fill the disk.
        is_stranger = bool(caller.gates & GATE_AUTH)
        fields |= {"keys": []} if is_stranger else _keys_of(command, words)
        fields["outcome"] = outcome
        if caller is not client:
            fields["in"] = "script"
        elif client.deny_blocking or (outcome != "ok" and client.gates & GATE_MULTI):
            fields["in"] = "multi"
        if command is not None and (subjects := self._subjects(command, words)):
            fields["about"] = [_shown(subject) for subject in subjects]
        self._write(fields | more)

    def _subjects(self, command: Command, words: Sequence[bytes]) -> list[bytes]:
        """The directives or known users that a request names."""
        name = command.fullname
        if name == b"config|set":
            given = [word.lower() for word in words[2::2]]
            return [word for word in given if is_known(word.decode("latin-1"))]
        named: Sequence[bytes] = ()
        if name == b"auth":
            named = words[1:2] if len(words) == 3 else [b"default"]
        elif name == b"hello" and _has_auth(words):
            named = [words[[word.upper() for word in words].index(b"AUTH") + 1]]
        elif name == b"acl|setuser":
            named = words[2:3]
        elif name == b"acl|deluser":
            return list(words[2:])
        return [user for user in named if user in self._users.users]

    def _has_removed(self, client: Client, request: Request, reply: Reply) -> bool:
        """Return True if a command that sets a time to live has removed its key by that."""
        was_there = isinstance(reply, bytes) and not reply.startswith((b":0", b"$-1", b"_", b"-"))
        return was_there and client.db.get(request[1]) is None

    def _write(self, fields: dict[str, object]) -> None:
        self.lines += 1
        seconds, us = divmod(self._instance.host.clock_us(), 1_000_000)
        if seconds != self._second:
            self._second, self._when = seconds, _utc(seconds)
        head = f'{{"time":"{self._when}.{us:06d}Z","seq":{self.lines},'
        self.write(f"{head}{self._encode(fields)[1:]}\n".encode())


def _utc(seconds: int) -> str:
    from datetime import UTC, datetime  # few need it: not at the start

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _event_of(command: Command) -> int:
    name = command.fullname
    if name in _NO_EVENTS:
        return 0
    if name in _AUTH:
        return AUTH
    if name in _CONFIG:
        return CONFIG
    if command.flags & ADMIN:
        return ADMINISTRATION
    return REMOVAL if name in _REMOVING else OTHER


def _repeats(client: Client) -> bool:
    """Return True for requests of a file, of a primary, and of a script that one of these runs."""
    if isinstance(client, ScriptClient):
        client = client.caller
    return client.replays or bool(client.gates & GATE_PRIMARY)


def _error_code(reply: Reply) -> bytes:
    """The first word of an error, b"" for another reply."""
    if not isinstance(reply, bytes) or not reply.startswith(b"-"):
        return b""
    word = reply[1:].split(b" ", 1)[0].rstrip()
    # A script makes errors of any text, which may be a value.
    return word if len(word) <= MOST_CODE_BYTES and word.isalpha() and word.isupper() else b"ERR"


def _has_auth(words: Sequence[bytes]) -> bool:
    """Return True for a HELLO with a user's name and password."""
    return b"AUTH" in [word.upper() for word in words[2:-2]]


def _changes_audit(command: Command, request: Request) -> bool:
    """Return True for a CONFIG SET of what is recorded."""
    if command.fullname != b"config|set":
        return False
    return any(word.lower().startswith(b"audit-") for word in request.words()[2::2])


def _about(client: Client) -> dict[str, object]:
    """The fields on the client."""
    fields: dict[str, object] = {
        "user": _text(client.user) if client.authenticated else None,
        "addr": _text(client.address),
        "id": client.id,
        "name": _shown(client.name),
    }
    if client.gates & GATE_REPLICA:
        fields["is_replica"] = True
    return fields


def _keys_of(command: Command | None, words: Sequence[bytes]) -> dict[str, object]:
    """The keys of a request; none of one whose number of words is wrong."""
    if command is None or not command.keys or not command.accepts(len(words)):
        return {"keys": []}
    positions = command.key_positions(words)
    fields: dict[str, object] = {"keys": [_shown(words[at]) for at in positions[:MOST_KEYS]]}
    if len(positions) > MOST_KEYS:
        fields["keys_left_out"] = len(positions) - MOST_KEYS
    return fields


def _shown(name: bytes) -> str:
    more = len(name) - MOST_KEY_BYTES
    return _text(name) if more <= 0 else f"{_text(name[:MOST_KEY_BYTES])}... ({more} more bytes)"


def _text(word: bytes) -> str:
    """Bytes as text; those that are no UTF-8 as escapes, as in the server's log."""
    return word.decode("utf-8", "backslashreplace")
