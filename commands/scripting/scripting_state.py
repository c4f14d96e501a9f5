"""The scripting state of one instance: the interpreter, the cache, and the running script.

A script that has run for longer than `busy-reply-threshold` is paused regularly
(Dispatcher.pause_script); meanwhile the event loop answers other clients with -BUSY. This module
decides which scripts may be killed. Loading a library is such a run as well.

A signal that ends the server, and SHUTDOWN, end whatever runs (`is_ending`), even if it has
written: then the data in memory are torn (Instance.is_torn), and must be neither saved nor sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython

from commands.core.registry import Runner
from commands.core.services import Services
from commands.core.stats import ScriptingFigures
from commands.scripting.calls import Calls
from commands.scripting.crossing import Compiled
from commands.scripting.functions.libraries import Libraries
from commands.scripting.interpreter import (
    KILLED,
    LOADS_TOO_LONG,
    MOST_INSTRUCTIONS,
    CompileError,
    Failure,
    Interpreter,
    Registered,
)
from commands.scripting.running_script import Running, ScriptClient
from commands.scripting.script_cache import ScriptCache
from protocol import replies
from protocol.errors import ReplyError

if TYPE_CHECKING:
    from commands.core.instance import Instance
    from commands.core.registry import Reply
    from protocol.requests import Argv

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

    def _perform(self) -> bytes:
        running: Running
        interpreter: Interpreter
        function: Compiled
        running, interpreter, function, keys, rest = self._job
        assert self.running is None, "a script runs another one"
        self.running = running
        if not running.is_brief:
            running.started_us = self._looked_us = self.instance.host.clock_us()
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
            return result
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
        running.started_us = self._looked_us = self.instance.host.clock_us()
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
        now_us = instance.host.clock_us()
        self._set_pace(now_us - self._looked_us, is_early)
        self._looked_us = now_us
        assert running is not None
        threshold_us = instance.config.busy_reply_threshold * 1000
        is_interrupted = instance.host.is_interrupted()
        if is_interrupted or (threshold_us and now_us - running.started_us >= threshold_us):
            # Where a pause is impossible (a file is replayed), the loop cannot handle the signal.
            if not instance.feature(Services).dispatcher.pause_script() and is_interrupted:
                running.is_killed = True
            self._looked_us = instance.host.clock_us()
            most = min(most, self._instructions)
        else:
            most = self._instructions
        if self.is_ending:
            running.is_killed = True
        if running.is_killed:
            instance.is_torn = instance.is_torn or running.has_written
            return KILLED
        if running.deadline_us and now_us >= running.deadline_us:
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
