"""EVAL, EVALSHA, their read-only forms, SCRIPT; the scripting state of one instance.

A script that has run for longer than `busy-reply-threshold` is paused regularly
(Dispatcher.pause_script); meanwhile the event loop answers other clients with -BUSY. This module
decides which scripts may be killed. Loading a library is such a run as well.

A signal that ends the server, and SHUTDOWN, end whatever runs (`is_ending`), even if it has
written: then the data in memory are torn (Instance.is_torn), and must be neither saved nor sent.

SCRIPT DEBUG is refused.
"""

from __future__ import annotations

import cython

from commands.cluster.routing import ANY_SLOT, NO_SLOT
from commands.core.client import Client
from commands.core.gates import GATE_STALE
from commands.core.instance import Instance
from commands.core.long_reply import LONG_BYTES, LongReply, in_pieces
from commands.core.registry import (
    ALLOW_BUSY,
    DENYOOM,
    LOADING,
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
    Runner,
    command,
    counted_keys,
)
from commands.core.services import Services
from commands.core.stats import ScriptingFigures
from commands.documentation import help_reply
from commands.scripting.calls import (
    Calls,
    Running,
    Script,
    ScriptCache,
    ScriptClient,
    running_script,
)
from commands.scripting.interpreter import (
    KILLED,
    LOADS_TOO_LONG,
    MOST_INSTRUCTIONS,
    Compiled,
    CompileError,
    Failure,
    Interpreter,
    Registered,
)
from commands.scripting.libraries import Libraries
from commands.scripting.source import parse_script
from commands.server.monitor import feed_monitors
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request, key_slot
from protocol.requests import Argv
from storage.types.value import as_int64

_UNKILLABLE = (
    b"UNKILLABLE Sorry the script already executed write commands against the dataset. You can"
    b" either wait the script termination or kill the server in a hard way using the SHUTDOWN"
    b" NOSAVE command."
)
# How much time should pass between two checks of the clock. After long work few instructions are
# tried first.
_BETWEEN_LOOKS_US = 500
_FIRST_INSTRUCTIONS = 10
# How long a client's library may take to load; one from a primary or a file may take any time.
LOAD_TIMEOUT_US = 500_000
_NOT_BUSY = b"NOTBUSY No scripts in execution right now."


class ScriptFailed(ReplyError):
    """The error that a script ended with, which may be in the statistics already."""

    def __init__(self, text: bytes, is_counted: bool) -> None:
        super().__init__(text)
        self.is_counted = is_counted


@cython.cclass
class Scripting:
    """The scripting state of one instance."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.client = ScriptClient(instance)
        self.running: Running | None = None
        self.is_ending = False
        self.scripts = ScriptCache(self._compile)
        self.calls = Calls(self)
        self.libraries = self.empty_libraries()
        # The running script: there is at most one.
        self._job: tuple[Running, Interpreter, Compiled, Argv, Argv]
        self._work = self._perform
        self._runner: Runner | None = None  # known once the server is whole
        self._interpreter: Interpreter | None = None
        # When the clock was checked last, and for how many instructions.
        self._looked_us = 0
        self._instructions = MOST_INSTRUCTIONS

    @property
    def interpreter(self) -> Interpreter:
        """`script_interpreter`, for those who do not run scripts all the time."""
        return self.script_interpreter()

    def script_interpreter(self) -> Interpreter:
        """The interpreter for scripts of EVAL, created on first use."""
        if self._interpreter is None:
            self._interpreter = Interpreter(self.calls, is_for_scripts=True)
        return self._interpreter

    def figures(self) -> ScriptingFigures:
        """For INFO."""
        return ScriptingFigures(
            eval_bytes=0 if self._interpreter is None else self._interpreter.memory_bytes,
            function_bytes=self.libraries.memory_bytes,
            script_bytes=self.scripts.body_bytes,
            library_bytes=self.libraries.code_bytes,
            scripts=len(self.scripts),
            libraries=len(self.libraries.by_name),
            functions=len(self.libraries.functions),
            evicted_scripts=self.scripts.evicted,
        )

    def new_libraries(self, codes: list[bytes]) -> Libraries:
        """Load libraries that can replace the present ones. Raises ReplyError."""
        current, new = self.libraries, self.empty_libraries()
        self.libraries = new  # what is loaded asks there
        try:
            for code in codes:
                new.load(code, replaces=False, is_timed=False)
        finally:
            self.libraries = current
        return new

    def library_codes(self) -> list[bytes]:
        """The sources of all libraries."""
        return [library.code for library in self.libraries.by_name.values()]

    def flush_scripts(self) -> None:
        """SCRIPT FLUSH: remove all scripts, and the interpreter with them."""
        self.scripts.clear()
        self._interpreter = None

    def _compile(self, source: bytes) -> Compiled:
        try:
            return self.interpreter.compile(source, b"@user_script")
        except CompileError as error:
            text = b"ERR Error compiling script (new function): %b" % error.args[0]
            raise ReplyError(text) from None

    # -- running -------------------------------------------------------------------------------

    def run(
        self, running: Running, interpreter: Interpreter, function: Compiled, keys: Argv, rest: Argv
    ) -> Reply:
        """Run a script or a function; it may be paused, unless it is brief. Raises ReplyError."""
        self._job = (running, interpreter, function, keys, rest)
        if function.is_brief:
            running.is_brief = True
            return self._perform()
        if self._runner is None:
            self._runner = self.instance.feature(Services).runner
        return self._runner.run_with_pauses(running.client, running.argv, self._work)

    def _perform(self) -> bytes | LongReply:
        running: Running
        interpreter: Interpreter
        function: Compiled
        running, interpreter, function, keys, rest = self._job
        assert self.running is None, "a script runs another one"
        self.running = running
        if not running.is_brief:
            running.started_us = self._looked_us = self.instance.host.monotonic_us()
        caller = running.client
        self.client.begin(caller)
        self.calls.begin(running, interpreter)
        try:
            if running.is_function:
                result = interpreter.run_function(function, caller.resp, keys, rest)
            else:
                result = interpreter.run_script(function, caller.resp, keys, rest)
        finally:
            self.running = None
            caller.commands += self.client.commands
            if self.client.output:
                self.client.output.clear()
        if type(result) is bytes:
            return result if len(result) < LONG_BYTES else LongReply(in_pieces([result]))
        if type(result) is list:
            return LongReply(in_pieces(result))
        assert isinstance(result, Failure)
        text = result.text
        if result.source is not None and result.line is not None:
            text += b" script: %b, on %b:%b." % (running.name, result.source, result.line)
        raise ScriptFailed(text, result.is_counted)

    def empty_libraries(self) -> Libraries:
        """Libraries that can replace the present ones once they are loaded."""
        return Libraries(self._function_interpreter, self.load_library)

    def _function_interpreter(self) -> Interpreter:
        """An interpreter for the functions of libraries."""
        return Interpreter(self.calls, is_for_scripts=False)

    def load_library(
        self, name: bytes, interpreter: Interpreter, function: Compiled, is_timed: bool
    ) -> list[Registered] | Failure:
        """Run the source of a library; the functions that it registers. It may be paused."""
        assert self.running is None, "a script loads a library"
        words = [b"FUNCTION", b"LOAD"]
        running = Running(self.client, name, words, is_function=True, is_library=True)
        running.started_us = self._looked_us = self.instance.host.monotonic_us()
        running.deadline_us = running.started_us + LOAD_TIMEOUT_US if is_timed else 0
        self.running = running
        try:
            return interpreter.load_library(function)
        finally:
            self.running = None

    def check_clock(self, is_early: bool, most: int) -> int:
        """Called regularly while Lua runs: after how many instructions again, or why it ends.

        While other clients wait for the script, no more than `most`.
        """
        instance, running = self.instance, self.running
        if running is not None and running.is_brief:
            return min(most, MOST_INSTRUCTIONS)
        at_us = instance.host.monotonic_us()
        self._set_pace(at_us - self._looked_us, is_early)
        self._looked_us = at_us
        assert running is not None
        threshold_us = instance.config.busy_reply_threshold * 1000
        is_interrupted = instance.host.is_interrupted()
        if is_interrupted or (threshold_us and at_us - running.started_us >= threshold_us):
            # Where a pause is impossible (a file is replayed), the loop cannot handle the signal.
            if not instance.feature(Services).runner.pause_script() and is_interrupted:
                running.is_killed = True
            self._looked_us = instance.host.monotonic_us()
            most = min(most, self._instructions)
        else:
            most = self._instructions
        if self.is_ending:
            running.is_killed = True
        if running.is_killed:
            instance.is_torn = instance.is_torn or running.has_written
            return KILLED
        if running.deadline_us and at_us >= running.deadline_us:
            return LOADS_TOO_LONG
        return most

    def note_long_call(self) -> None:
        """A command of the brief script that runs took long: its next run may be paused."""
        self._job[2].is_brief = False

    def _set_pace(self, elapsed_us: int, is_early: bool) -> None:
        """Set the number of instructions until the next check, by the time of the last ones."""
        count = min(self._instructions, _FIRST_INSTRUCTIONS) if is_early else self._instructions
        if elapsed_us > _BETWEEN_LOOKS_US:
            self._instructions = max(1, count * _BETWEEN_LOOKS_US // elapsed_us)
        else:
            self._instructions = min(MOST_INSTRUCTIONS, 2 * count)

    # -- other clients, while a script runs ----------------------------------------------------

    @property
    def busy_error(self) -> ReplyError:
        """The error for other clients."""
        assert self.running is not None
        return ReplyError(
            b"BUSY Redis is busy running a script. You can only call %b KILL or SHUTDOWN NOSAVE."
            % (b"FUNCTION" if self.running.is_function else b"SCRIPT")
        )

    def kill(self, *, function: bool) -> bytes:
        """SCRIPT KILL and FUNCTION KILL."""
        running = self.running
        if running is None:
            raise ReplyError(_NOT_BUSY)
        if running.has_written:
            raise ReplyError(_UNKILLABLE)
        if running.is_function != function:
            raise self.busy_error
        running.is_killed = True
        return replies.OK


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
    if client.instance.has_monitors:
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


@command("SCRIPT LOAD", arity=3, flags=NOSCRIPT | STALE)
def script_load(client: Client, argv: Request) -> bytes:
    """The script's SHA1."""
    scripts = client.instance.feature(Scripting).scripts
    return replies.bulk(scripts.take(argv[2], is_loaded=True).sha)


@command("SCRIPT EXISTS", arity=-3, flags=NOSCRIPT)
def script_exists(client: Client, argv: Request) -> bytes:
    """An array of 1 and 0."""
    scripts = client.instance.feature(Scripting).scripts
    return replies.array([replies.ONE if sha in scripts else replies.ZERO for sha in argv[2:]])


@command("SCRIPT FLUSH", arity=-2, flags=NOSCRIPT)
def script_flush(client: Client, argv: Request) -> bytes:
    """ASYNC and SYNC do the same: the whole interpreter is replaced."""
    if len(argv) > 3 or (len(argv) == 3 and argv[2].upper() not in (b"SYNC", b"ASYNC")):
        raise ReplyError(b"ERR SCRIPT FLUSH only support SYNC|ASYNC option")
    client.instance.feature(Scripting).flush_scripts()
    return replies.OK


@command("SCRIPT KILL", arity=2, flags=NOSCRIPT | ALLOW_BUSY)
def script_kill(client: Client, argv: Request) -> bytes:
    """Errors: NOTBUSY, UNKILLABLE; BUSY if a function runs."""
    return client.instance.feature(Scripting).kill(function=False)


@command("SCRIPT DEBUG", arity=3, flags=NOSCRIPT)
def script_debug(client: Client, argv: Request) -> bytes:
    """NO changes nothing; the other modes are refused."""
    mode = argv[2].upper()
    if mode == b"NO":
        return replies.OK
    if mode not in (b"YES", b"SYNC"):
        raise ReplyError(b"ERR Use SCRIPT DEBUG YES/SYNC/NO")
    raise ReplyError(b"ERR SCRIPT DEBUG is not supported: there is no debugger for scripts")


@command("SCRIPT HELP", arity=2, flags=LOADING | STALE)
def script_help(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2, for the shape."""
    return help_reply(
        b"SCRIPT",
        b"DEBUG (YES|SYNC|NO)",
        b"    There is no debugger: only NO is accepted.",
        b"EXISTS <sha1> [<sha1> ...]",
        b"    Whether scripts with these SHA1s are kept.",
        b"FLUSH [ASYNC|SYNC]",
        b"    Forget all scripts.",
        b"KILL",
        b"    End the script that runs, if it has not written.",
        b"LOAD <script>",
        b"    Keep a script for EVALSHA without running it.",
    )
