"""The services that scripts call: redis.call and the rest of the `redis` library.

A script's command is looked up, checked and run like a client's. The errors for an unknown command
and for a command that the user may not run have their own texts.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import Protocol, TypeAlias

import cython
import hiredis

from commands.acl.access_control import AccessControl
from commands.acl.checks import denial, refusal_in_script
from commands.cluster import routing
from commands.connection.invalidation_table import remember_request
from commands.core.blocked_clients import Block
from commands.core.gates import (
    GATE_FEW_REPLICAS,
    GATE_OUT_OF_MEMORY,
    GATE_PRIMARY,
    GATE_READ_ONLY,
    GATE_RESTRICTED,
    GATE_STALE,
    GATE_TRACKING,
    GATE_WRITES_REFUSED,
)
from commands.core.host import REDIS_VERSION
from commands.core.instance import Instance
from commands.core.long_reply import LongReply
from commands.core.registry import (
    DENYOOM,
    MAY_REPLICATE,
    NOSCRIPT,
    READONLY,
    STALE,
    WRITE,
    Command,
    CommandTable,
    Handler,
    Reply,
    Runner,
)
from commands.core.services import Services
from commands.scripting.crossing import NO_WORDS, let_others_run, to_words
from commands.scripting.functions.libraries import Libraries
from commands.scripting.interpreter import HostFunctions, Interpreter
from commands.scripting.running_script import REPLICATE_ALL, Running, ScriptClient
from protocol import errors
from protocol.request import Request, of_words
from protocol.requests import Argv

_NO_ARGUMENTS = b"!ERR Please specify at least one argument for this redis lib call\r\n"
_UNKNOWN = b"ERR Unknown Redis command called from script"
_WRONG_ARITY = b"ERR Wrong number of args calling Redis command from script"
_NOT_ALLOWED = b"ERR This Redis command is not allowed from script"
_READ_ONLY = b"ERR Write commands are not allowed from read-only scripts."
_STATE_GATES = (
    GATE_FEW_REPLICAS | GATE_READ_ONLY | GATE_STALE | GATE_WRITES_REFUSED | GATE_OUT_OF_MEMORY
)
# After a call that took longer than this, the clock is checked at the next instruction.
SLOW_NS = 1_000_000
# A script with a call that took longer than this may be paused from its next run on.
LONG_NS = 100_000_000
_LEVELS = ("debug", "verbose", "notice", "warning")

_WHILE_LOADING = b"!ERR Redis commands can not be called while a library is loaded\r\n"
# A command that scripts may call, with what a call needs of it: handler, arity, whether it writes.
Plain: TypeAlias = "tuple[Command, Handler | None, int, bool]"


class Scripts(Protocol):
    """The part of the scripting state that calls use (scripting_state.py)."""

    instance: Instance
    client: ScriptClient
    running: Running | None
    libraries: Libraries

    def check_clock(self, is_early: bool, most: int) -> int:
        """After how many instructions of Lua to look again, or why the script ends."""

    def note_long_call(self) -> None:
        """The brief script that runs has called a command that took long."""


@cython.cclass
class Calls(HostFunctions):
    """The services of the interpreters (commands/scripting/interpreter.py)."""

    def __init__(self, scripting: Scripts) -> None:
        major, minor, patch = (int(part) for part in REDIS_VERSION.split("."))
        super().__init__(REDIS_VERSION.encode(), major << 16 | minor << 8 | patch)
        self._scripting = scripting
        self._instance = scripting.instance
        self._client = scripting.client
        self._commands = scripting.instance.feature(CommandTable)
        self._plain = _plain_commands(self._commands.by_name)
        self._runner: Runner | None = None  # known once the server is whole, like `_services`
        self._mark_ns = 0  # Dispatcher.mark_ns after the last call

    # -- commands ------------------------------------------------------------------------------

    def begin(self, running: Running, interpreter: Interpreter) -> None:
        """Prepare for a script: look up once what its calls need."""
        instance = self._instance
        self._running = running
        if self._runner is None:
            services = instance.feature(Services)
            self._services, self._runner = services.dispatcher, services.runner
        self._mark_ns = self._runner.mark_ns
        self._may_be_refused = (
            running.is_read_only
            or bool(instance.gates & _STATE_GATES)
            or bool(running.client.gates & GATE_RESTRICTED)
            or instance.is_cluster
        )
        self._interpreter = interpreter
        self._is_tracked = bool(running.client.gates & GATE_TRACKING)

    def has_room(self, size_bytes: cython.longlong) -> bool:
        """Return True if Lua has memory for a value of that size."""
        return self._interpreter.has_room(size_bytes)

    def call_words(self, words: Argv) -> bytes | None:
        """redis.call and redis.pcall: the reply, or an error; one that begins with ! was not
        counted. None if there is no memory for it.
        """
        try:
            plain = self._plain.get(words[0]) if words else None
            if plain is None or self._may_be_refused:
                return self._call_any(words)
            return self._call_plain(plain, words)
        except BaseException as error:  # it must not reach the script
            return self._failed(error)

    def _call_plain(self, plain: Plain, words: Argv) -> bytes | None:
        """Run a command in a usual spelling; no check by flags is needed."""
        command, handler, arity, writes = plain
        count = len(words)
        if count != arity and (arity >= 0 or count < -arity):
            return self._call_any(words)
        request = of_words(words)
        if self._running.replicates != REPLICATE_ALL:
            return self._run(command, request)
        if writes:
            self._running.has_written = True
        runner = self._runner
        assert runner is not None
        reply = runner.account(self._client, command, request, handler)
        if type(reply) is bytes and not self._is_tracked and self._interpreter.has_room(len(reply)):
            self._note_time()
            return reply
        return self._conclude(command, request, reply)

    @cython.cfunc
    def _note_time(self) -> None:
        assert self._runner is not None
        mark_ns: cython.longlong = self._runner.mark_ns
        if mark_ns - self._mark_ns > SLOW_NS:
            self._interpreter.check_clock_soon()
            if self._running.is_brief and mark_ns - self._mark_ns > LONG_NS:
                self._scripting.note_long_call()
        self._mark_ns = mark_ns

    def _failed(self, error: BaseException) -> bytes:
        """Log a defect of ours; the error for the script."""
        text = "".join(traceback.format_exception(error))
        self._instance.host.log("warning", f"A script's call failed: {text}")
        return b"!ERR internal error, see the server's log\r\n"

    def call_many(self, packed: bytes) -> bytes | None:
        """redis.call and redis.pcall with many arguments, which are passed as a RESP array."""
        words = to_words(_unpack(packed))
        return NO_WORDS if words is None else self.call_words(words)

    def _call_any(self, argv: Argv) -> bytes | None:
        """The slow path: other spellings, refusals, errors."""
        running = self._scripting.running
        if running is None or running.is_library:
            return _WHILE_LOADING
        if not argv:
            return _NO_ARGUMENTS
        command = self._commands.find(argv)
        refusal = self._refusal(self._running, command, argv)
        if refusal is not None:
            self._instance.stats.count_error(refusal.split(b" ", 1)[0])
            if command is not None:
                self._instance.stats.of(command).rejected_calls += 1
            return b"-%b\r\n" % refusal
        assert command is not None
        return self._run(command, Request(argv))

    def _run(self, command: Command, request: Request) -> bytes | None:
        running, services = self._running, self._services
        if command.flags & WRITE:
            running.has_written = True
        if running.replicates == REPLICATE_ALL:
            reply = services.run(self._client, command, request)
        else:
            reply = services.run_held_back(self._client, command, request, running.replicates)
        return self._conclude(command, request, reply)

    def _conclude(self, command: Command, request: Request, reply: Reply) -> bytes | None:
        """The reply of a command that has run, if the interpreter has room for it."""
        self._note_time()
        if self._is_tracked and command.flags & READONLY:
            remember_request(self._running.client, command, request)
        if type(reply) is LongReply:
            assert self._runner is not None
            reply = self._runner.join(self._client, command, request, reply)
        assert type(reply) is not Block, f"{command.fullname!r} blocks in a script"
        if type(reply) is not bytes:
            return b"$-1\r\n"
        return reply if self._interpreter.has_room(len(reply)) else None

    def _refusal(self, running: Running, command: Command | None, argv: Argv) -> bytes | None:
        """Why a script must not run a command."""
        if command is None:
            return _UNKNOWN
        if not command.accepts(len(argv)):
            return _WRONG_ARITY
        if command.flags & NOSCRIPT:
            return _NOT_ALLOWED
        if running.client.gates & GATE_RESTRICTED:
            denied = refusal_in_script(self._client, running.client, command, argv)
            if denied is not None:
                return denied
        if self._instance.is_cluster and not running.client.replays:
            elsewhere = routing.refusal_in_script(self._client, command, argv, running)
            if elsewhere is not None:
                return elsewhere
        if running.is_read_only and command.flags & (WRITE | MAY_REPLICATE):
            return _READ_ONLY
        gates = self._instance.gates
        if gates & _STATE_GATES and not running.client.replays:
            return self._refusal_of_gates(running, command, gates)
        return None

    def _refusal_of_gates(self, running: Running, command: Command, gates: int) -> bytes | None:
        """Why the server's state forbids a command; some reasons hold only before a write."""
        if gates & GATE_STALE and not command.flags & STALE:
            return b"ERR Can not execute the command on a stale replica"
        if not command.flags & WRITE or running.client.gates & GATE_PRIMARY:
            return None
        if gates & GATE_READ_ONLY:
            return errors.READ_ONLY
        if running.has_written:
            return None
        if gates & GATE_OUT_OF_MEMORY and command.flags & DENYOOM and not running.allows_growth:
            return errors.OUT_OF_MEMORY
        if gates & GATE_WRITES_REFUSED and self._instance.write_refusal is not None:
            return self._instance.write_refusal.text
        return errors.NO_REPLICAS if gates & GATE_FEW_REPLICAS else None

    # -- the rest of the library ---------------------------------------------------------------

    def check_clock(self, is_early: bool, most: int) -> int:
        """Called regularly while a script runs."""
        let_others_run()
        return self._scripting.check_clock(is_early, most)

    def set_resp(self, version: int) -> None:
        """redis.setresp."""
        self._scripting.client.resp = version

    def set_repl(self, flags: int) -> None:
        """redis.set_repl."""
        running = self._scripting.running
        if running is not None:
            running.replicates = flags

    def log(self, level: int, text: bytes) -> None:
        """redis.log."""
        self._instance.host.log(_LEVELS[level], text.decode("utf-8", "backslashreplace"))

    def acl_check(self, packed: bytes) -> bool | bytes:
        """redis.acl_check_cmd."""
        argv = to_words(_unpack(packed))
        if argv is None:
            return NO_WORDS[1:-2]
        if not argv:
            return _NO_ARGUMENTS[1:-2]
        command = self._commands.find(argv)
        if command is None:
            return b"ERR Invalid command passed to redis.acl_check_cmd()"
        user = self._instance.feature(AccessControl).user_of(self._client)
        return denial(user, command, argv) is None

    def register(self, name: bytes) -> bytes | None:
        """redis.register_function, for a function of that name."""
        return self._scripting.libraries.refuse_function(name)


def _plain_commands(by_name: Mapping[bytes, Command]) -> dict[object, Plain]:
    """The commands that scripts may call, in the usual spellings."""
    return {
        spelling: (command, command.handler, command.arity, bool(command.flags & WRITE))
        for name, command in by_name.items()
        for spelling in (name, name.upper())
        if not command.subcommands and not command.flags & NOSCRIPT
    }


def _unpack(packed: bytes) -> list[object]:
    reader = hiredis.Reader()
    reader.feed(packed)
    arguments: list[object] = reader.gets()
    return arguments
