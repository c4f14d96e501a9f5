"""redis.call and the other functions of the `redis` library; the script that runs.

A script's command is looked up, checked and run like a client's, and comes from a client of its
own. The errors for an unknown command and for a command that the user may not run have their own
texts. `ScriptCache` has the scripts that EVALSHA finds, by the SHA1 of their text.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

import cython
import hiredis

from commands.acl.access_control import AccessControl
from commands.acl.checks import DENIED_IN_SCRIPT, denial, refusal_in_script
from commands.cluster import routing
from commands.cluster.routing import ANY_SLOT
from commands.connection.invalidation_table import remember_request
from commands.core.blocked_clients import Block
from commands.core.client import Client
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
from commands.scripting.interpreter import (
    NO_WORDS,
    Compiled,
    HostFunctions,
    Interpreter,
    let_others_run,
    to_words,
)
from commands.scripting.libraries import Libraries
from commands.scripting.source import Script as ParsedScript
from commands.scripting.source import parse_script
from protocol import errors
from protocol.request import Request, of_words
from protocol.requests import Argv

# The modes of redis.set_repl; a script starts with REPLICATE_ALL.
REPLICATE_ALL = 3
# In cluster mode, the slot of the keys that a script has used.


@cython.cclass
class Running:
    """A script, a function of a library, or a library that is loaded, from its start to its end."""

    __slots__ = (
        "allows_growth", "argv", "client", "deadline_us", "has_written", "is_brief", "is_function",
        "is_killed", "is_library", "is_read_only", "name", "replicates", "slot", "started_us",
    )  # fmt: skip

    def __init__(
        self,
        client: Client,
        name: bytes,
        argv: Argv,
        *,
        is_function: bool = False,
        is_library: bool = False,
        is_read_only: bool = False,
    ) -> None:
        self.client = client  # the caller
        self.name = name  # SHA1 of the script, or the name of the function or library
        self.argv = argv
        self.is_function = is_function  # what FUNCTION KILL ends; if not, SCRIPT KILL
        self.is_library = is_library
        self.is_read_only = is_read_only
        self.allows_growth = False  # declares `allow-oom`
        self.is_brief = False  # it is not paused
        self.has_written = False
        self.is_killed = False
        self.replicates = REPLICATE_ALL
        self.slot = ANY_SLOT  # NO_SLOT for one that must keep to the slot of its first key
        self.started_us = 0
        self.deadline_us = 0  # 0: none


def running_script(
    client: Client, name: bytes, argv: Argv, is_function: cython.bint, is_read_only: cython.bint
) -> Running:
    """`Running` for a script or a function that starts, as a C function."""
    running: Running = Running.__new__(Running)
    running.client, running.name, running.argv = client, name, argv
    running.is_function, running.is_read_only = is_function, is_read_only
    running.is_library = running.is_brief = running.has_written = running.is_killed = False
    running.allows_growth = False
    running.replicates = REPLICATE_ALL
    running.slot = ANY_SLOT
    running.started_us = running.deadline_us = 0
    return running


@cython.cclass
class ScriptClient(Client):
    """The client of commands that a script runs: no connection, and not in the table of clients.

    Its changes of keys count as the caller's.
    """

    __slots__ = ("caller",)

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance, -1, instance.databases[0])
        self.address = b"lua"
        self.deny_blocking = True
        self.caller: Client = self

    def begin(self, caller: Client) -> None:
        """Prepare for a script: it runs in its caller's database, with RESP2."""
        self.caller = caller
        self.db, self.user, self.no_touch = caller.db, caller.user, caller.no_touch
        self.gates = caller.gates & GATE_RESTRICTED
        self.resp = 2
        self.propagates = False
        self.commands = 0

    def modified(self, key: bytes, changes: cython.long = 1) -> None:
        """`key` was changed by the caller: watching transactions fail, caches are invalidated."""
        instance = self.instance
        instance.dirty += changes
        if instance.key_observers:
            instance.key_modified(self.db, key, self.caller)

    def send(self, data: bytes) -> None:
        """Messages are dropped: there is no connection to send them to."""


# The number of scripts that are kept after EVAL; the least recently used is evicted first.
EVALUATED_LIMIT = 500


@cython.cclass
class Script:
    """A cached script."""

    def __init__(
        self, sha: bytes, body: bytes, function: Compiled, parsed: ParsedScript, is_loaded: bool
    ) -> None:
        self.sha = sha
        self.body = body
        self.function = function
        self.flags = parsed.flags
        self.has_shebang = parsed.has_shebang
        self.is_loaded = is_loaded  # by SCRIPT LOAD: never evicted


@cython.cclass
class ScriptCache:
    """The cache of one instance. `compile` makes a function from source; raises ReplyError."""

    def __init__(self, compile: Callable[[bytes], Compiled]) -> None:
        self.evicted = 0
        self.body_bytes = 0
        self._compile = compile
        self._scripts: dict[bytes, Script] = {}
        # Those from EVAL, the least recently used first.
        self._evaluated: dict[bytes, Script] = {}

    def __len__(self) -> int:
        return len(self._scripts)

    def __contains__(self, sha: bytes) -> bool:
        return sha.lower() in self._scripts

    def find(self, sha: bytes) -> Script | None:
        """The script with that SHA1."""
        script = self._scripts.get(sha)
        if script is None:
            script = self._scripts.get(sha.lower())
        if script is not None and not script.is_loaded:
            self._note_use(script)
        return script

    def take(self, body: bytes, *, is_loaded: bool) -> Script:
        """The script with that text, compiled if it is new. Raises ReplyError."""
        import hashlib  # it loads OpenSSL: not at the start

        sha = hashlib.sha1(body).hexdigest().encode()
        script = self._scripts.get(sha)
        if script is None:
            return self._add(sha, body, is_loaded)
        if is_loaded and not script.is_loaded:
            script.is_loaded = True
            del self._evaluated[sha]
        self._note_use(script)
        return script

    def clear(self) -> None:
        """SCRIPT FLUSH."""
        self._scripts.clear()
        self._evaluated.clear()
        self.body_bytes = 0

    def _add(self, sha: bytes, body: bytes, is_loaded: bool) -> Script:
        parsed = parse_script(body)
        function = self._compile(parsed.source)
        script = Script(sha, body, function, parsed, is_loaded)
        self._scripts[sha] = script
        self.body_bytes += len(body)
        if not is_loaded:
            self._evaluated[sha] = script
            if len(self._evaluated) > EVALUATED_LIMIT:
                self._evict(next(iter(self._evaluated)))
        return script

    def _note_use(self, script: Script) -> None:
        if not script.is_loaded:
            del self._evaluated[script.sha]
            self._evaluated[script.sha] = script

    def _evict(self, sha: bytes) -> None:
        del self._evaluated[sha]
        self.body_bytes -= len(self._scripts.pop(sha).body)
        self.evicted += 1


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
    """The part of the scripting state that calls use (evaluation.py)."""

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
        major, minor, patch = map(int, REDIS_VERSION.split("."))
        super().__init__(REDIS_VERSION.encode(), major << 16 | minor << 8 | patch)
        self._scripting = scripting
        self._instance = scripting.instance
        self._client = scripting.client
        self._commands = scripting.instance.feature(CommandTable)
        self._plain = _plain_commands(self._commands.by_name)
        self._runner: Runner | None = None  # known once the server is whole
        self._mark_ns = 0  # Stopwatch.mark_ns after the last call

    # -- commands ------------------------------------------------------------------------------

    def begin(self, running: Running, interpreter: Interpreter) -> None:
        """Prepare for a script: look up once what its calls need."""
        instance = self._instance
        self._running = running
        if self._runner is None:
            self._runner = instance.feature(Services).runner
        self._mark_ns = self._runner.stopwatch.mark_ns
        self._may_be_refused = (
            running.is_read_only
            or bool(instance.gates & _STATE_GATES)
            or bool(running.client.gates & GATE_RESTRICTED)
            or instance.is_cluster
        )
        self._interpreter = interpreter
        self._is_tracked = bool(running.client.gates & GATE_TRACKING)

    def call_request(self, request: Request) -> bytes:
        """redis.call and redis.pcall: the reply, or an error; one that begins with ! was not
        counted.
        """
        try:
            plain = self._plain.get(request.word(0)) if request.count else None
            if plain is None or self._may_be_refused:
                return self._call_any(request)
            return self._call_plain(plain, request)
        except BaseException as error:  # it must not reach the script
            return self._failed(error)

    def _call_plain(self, plain: Plain, request: Request) -> bytes:
        """Run a command in a usual spelling; no check by flags is needed."""
        command, handler, arity, writes = plain
        count = request.count
        if count != arity and (arity >= 0 or count < -arity):
            return self._call_any(request)
        if self._running.replicates != REPLICATE_ALL:
            return self._run(command, request)
        if writes:
            self._running.has_written = True
        runner = self._runner
        assert runner is not None
        reply = runner.account(self._client, command, request, handler)
        if type(reply) is bytes and not self._is_tracked:
            self._note_time()
            return reply
        return self._conclude(command, request, reply)

    @cython.cfunc
    def _note_time(self) -> None:
        assert self._runner is not None
        mark_ns: cython.long = self._runner.stopwatch.mark_ns
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

    def call_many(self, packed: bytes) -> bytes:
        """redis.call and redis.pcall with many arguments, which are passed as a RESP array."""
        words = to_words(_unpack(packed))
        return NO_WORDS if words is None else self.call_request(of_words(words))

    def _call_any(self, request: Request) -> bytes:
        """The slow path: other spellings, refusals, errors."""
        running = self._scripting.running
        if running is None or running.is_library:
            return _WHILE_LOADING
        if not request.count:
            return _NO_ARGUMENTS
        command = self._commands.find(request)
        refusal = self._refusal(self._running, command, request.words())
        if refusal is not None:
            self._instance.stats.count_error(refusal.split(b" ", 1)[0])
            if command is not None:
                self._instance.stats.of(command).rejected_calls += 1
            is_denied = refusal.startswith(DENIED_IN_SCRIPT)
            code = b"NOPERM" if is_denied else refusal.split(b" ", 1)[0]
            for observer in list(self._instance.request_observers):
                observer.refused(self._client, command, request.words(), code)
            return b"-%b\r\n" % refusal
        assert command is not None
        return self._run(command, request)

    def _run(self, command: Command, request: Request) -> bytes:
        running, runner = self._running, self._runner
        assert runner is not None
        if command.flags & WRITE:
            running.has_written = True
        if running.replicates == REPLICATE_ALL:
            reply = runner.run(self._client, command, request)
        else:
            reply = runner.run_held_back(self._client, command, request, running.replicates)
        return self._conclude(command, request, reply)

    def _conclude(self, command: Command, request: Request, reply: Reply) -> bytes:
        """The reply of a command that has run."""
        self._note_time()
        if self._is_tracked and command.flags & READONLY:
            remember_request(self._running.client, command, request)
        if type(reply) is LongReply:
            assert self._runner is not None
            reply = self._runner.join(self._client, command, request, reply)
        assert type(reply) is not Block, f"{command.fullname!r} blocks in a script"
        return reply if type(reply) is bytes else b"$-1\r\n"

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
