"""The Lua interpreter that runs scripts: Lua 5.1 from lupa, sandboxed by our own Lua code.

What scripts can reach is in lua/sandbox.lua; how they are run and stopped is in lua/runner.lua.
This module creates an interpreter, compiles and runs code, and limits the memory.

Rules between Python and Lua, which lupa does not enforce:
  - A Python function that Lua calls never raises: the exception would reach the script as an
    object. `_host_functions` ensures that.
  - It never returns more than there is memory for: if Lua runs out of memory inside such a call,
    the call never returns. `has_room` is checked first; None means that there is no room.
  - No Python object but these functions is passed to Lua, and those only to our own Lua code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import cython

from commands.scripting.brevity import is_brief
from commands.scripting.bytecode import keep_callers
from commands.scripting.crossing import Caller, Compiled, Crossing
from commands.scripting.shebang import FLAGS
from protocol.records import frozen_record

if TYPE_CHECKING:
    from protocol.requests import Argv

# The memory limit of a script without compiled code, and what is reserved for the interpreter.
MEMORY_BYTES = 256 * 1024 * 1024
_MARGIN_BYTES = 1024 * 1024
_OUT_OF_MEMORY = b"ERR not enough memory"
_ORDER = (
    "runner", "patterns", "sandbox", "replies", "redis", "bits", "structs", "json", "msgpack",
    "functions",
)  # fmt: skip
_LUA = f"{__file__.rpartition('/')[0]}/lua"

# Instructions of Lua between two checks of the clock, at most: 30 us of a loop without calls.
MOST_INSTRUCTIONS = 10_000
# The product of memory in use, in kilobytes, and instructions between two hooks (lua/runner.lua).
_KBYTE_INSTRUCTIONS = 1_000_000
# Results of a check of the clock that end a script; the texts are in lua/runner.lua.
KILLED, LOADS_TOO_LONG = -1, -2


class CompileError(Exception):
    """The source is not valid Lua; the argument is Lua's message, as bytes."""


@frozen_record
class Failure:
    """The error that a script ended with."""

    text: bytes
    source: bytes | None = None
    line: bytes | None = None
    is_counted: bool = False  # in the statistics of errors already


@frozen_record
class Registered:
    """A function that a library has registered."""

    name: bytes
    callback: Compiled | None
    description: bytes | None
    flags: frozenset[bytes]


@cython.cclass
class HostFunctions(Caller):
    """The functions that the interpreter's Lua code calls in Python, with bytes and numbers."""

    def __init__(self, version: bytes, version_number: int) -> None:
        self.version = version
        self.version_number = version_number

    def call_many(self, packed: bytes) -> bytes | None:
        """redis.call with its arguments as a RESP array."""
        raise NotImplementedError

    def check_clock(self, is_early: bool, most: int) -> int:
        """Called regularly while a script runs: after how many instructions again, or why it ends.

        is_early: long work has counted as few instructions. A script that others wait for goes on
        for no more than `most` instructions.
        """
        raise NotImplementedError

    def set_resp(self, version: int) -> None:
        """redis.setresp."""
        raise NotImplementedError

    def set_repl(self, flags: int) -> None:
        """redis.set_repl."""
        raise NotImplementedError

    def log(self, level: int, text: bytes) -> None:
        """redis.log."""
        raise NotImplementedError

    def acl_check(self, packed: bytes) -> bool | bytes:
        """redis.acl_check_cmd: whether the command may run, or an error's text."""
        raise NotImplementedError

    def register(self, name: bytes) -> bytes | None:
        """A library registers a function of that name: an error's text, or None."""
        raise NotImplementedError


@cython.cclass
class Interpreter:
    """One Lua state."""

    def __init__(self, services: HostFunctions, *, is_for_scripts: bool) -> None:
        from lupa.lua51 import LuaRuntime

        self._lua = LuaRuntime(
            encoding=None,
            attribute_filter=_refuse_attribute,
            register_eval=False,
            register_builtins=False,
            unpack_returned_tuples=True,
            max_memory=MEMORY_BYTES,
        )
        self._lua.set_max_memory(0)
        native = self._lua.table_from(
            {
                b"is_for_scripts": is_for_scripts,
                b"instructions": MOST_INSTRUCTIONS,
                b"kbyte_instructions": _KBYTE_INSTRUCTIONS,
                b"function_flags": self._lua.table_from(dict.fromkeys(FLAGS, True)),
            }
        )
        self._crossing = Crossing(self._lua, native, services)
        load = self._lua.execute(
            b"return function(source, host, native)"
            b" return assert(loadstring(source, '=rillway'))(host, native) end"
        )
        host = self._lua.table_from(_host_functions(services, self, self._crossing))
        for name in _ORDER:
            with open(f"{_LUA}/{name}.lua", "rb") as source:
                result = load(source.read(), host, native)
            if name == "patterns":
                native[b"patterns"] = result
        self._lua.execute(b"local all = _G for name in pairs(all) do all[name] = nil end")
        self._native = native
        self._crossing.find_functions()
        self._compile = native[b"compile_numbered"]
        self._collect = native[b"collect"]
        self._sethook, self._early_hook = native[b"sethook"], native[b"early_hook"]
        self._limit_bytes = self._collect_at_bytes = 0
        self.collect()

    # -- memory --------------------------------------------------------------------------------

    @property
    def memory_bytes(self) -> int:
        """The memory that the interpreter uses."""
        return self._crossing.used_bytes()

    def has_room(self, size_bytes: cython.longlong) -> bool:
        """Return True if Lua has memory for a text of that size."""
        return self._crossing.used_bytes() + size_bytes + _MARGIN_BYTES < self._limit_bytes

    def collect(self) -> None:
        """Collect garbage; what remains does not count against the next script's limit."""
        self._lua.set_max_memory(0)
        self._collect()
        used_bytes = self._crossing.used_bytes()
        self._limit_bytes = used_bytes + MEMORY_BYTES
        self._collect_at_bytes = used_bytes + MEMORY_BYTES // 4
        self._lua.set_max_memory(self._limit_bytes)

    def check_clock_soon(self) -> None:
        """The running script has called something slow: check the clock at its next instruction."""
        self._sethook(self._early_hook, b"", 1)

    # -- code ----------------------------------------------------------------------------------

    def compile(self, source: bytes, chunk_name: bytes) -> Compiled:
        """A function from source. Raises CompileError."""
        if not self.has_room(20 * len(source)):
            self.collect()
        self._lua.set_max_memory(0)
        try:
            function, result, *is_brief = self._compile(source, chunk_name)
        finally:
            self._lua.set_max_memory(self._limit_bytes)
        if function is None:
            raise CompileError(result)
        return Compiled(function, result, is_brief[0])

    def load_library(self, function: Compiled) -> list[Registered] | Failure:
        """Run a library's source; the functions that it registers."""
        try:
            result = self._native[b"load_library"](function.function)
        except Exception as error:
            self.collect()
            return Failure(b"ERR " + repr(error).encode("utf-8", "replace"))
        if type(result) is tuple:
            return Failure(result[1])
        found = []
        for row in result.values():
            name, callback, number, description, *flags = row.values()
            function = Compiled(callback, number, False)
            found.append(Registered(name, function, description or None, frozenset(flags)))
        return found

    def run_script(
        self, function: Compiled, resp: cython.int, keys: Argv, rest: Argv
    ) -> bytes | Failure:
        """The reply of a script of EVAL."""
        return self._run(function, True, resp, keys, rest)

    def run_function(
        self, function: Compiled, resp: cython.int, keys: Argv, rest: Argv
    ) -> bytes | Failure:
        """The reply of a function of a library."""
        return self._run(function, False, resp, keys, rest)

    def _run(
        self, function: Compiled, is_script: cython.bint, resp: cython.int, keys: Argv, rest: Argv
    ) -> bytes | Failure:
        size_bytes = _memory_of(keys) + _memory_of(rest)
        if self._crossing.used_bytes() + size_bytes >= self._collect_at_bytes:
            self.collect()
            if not self.has_room(size_bytes):
                return Failure(_OUT_OF_MEMORY)
        try:
            result = self._crossing.run(function, is_script, resp, keys, rest)
        except Exception as error:  # Lua could not catch it: it has no memory left
            result = (None, repr(error).encode("utf-8", "replace"))
        if type(result) is bytes:
            return result
        is_caught, text, source, line, is_counted = (*result, None, None, None)[:5]
        if is_caught is None:
            self.collect()
            return Failure(b"ERR " + text)
        return Failure(text, source, line, bool(is_counted))


def _memory_of(texts: Argv) -> cython.Py_ssize_t:
    """The bytes that a table of texts takes in Lua, at most."""
    size_bytes: cython.Py_ssize_t = 64 * len(texts)
    for text in texts:
        size_bytes += len(text)
    return size_bytes


def _refuse_attribute(obj: object, name: object, is_setting: bool) -> object:
    raise AttributeError("not for scripts")


def _host_functions(
    services: HostFunctions, interpreter: Interpreter, crossing: Crossing
) -> dict[bytes, object]:
    """The table `host` of the Lua code."""
    from commands.scripting import numbers
    from commands.scripting.chance import Chance

    def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
        """`function`, wrapped: None if it raises, or if its result does not fit."""

        def call(*arguments: object) -> Any:
            try:
                result = function(*arguments)
                if type(result) is bytes and not interpreter.has_room(len(result)):
                    return None
            except BaseException:
                return None
            return result

        return call

    chance, seeded = Chance(), Chance()
    functions: dict[bytes, Callable[..., Any]] = {
        b"call": crossing.call,
        b"call_many": services.call_many,
        b"set_resp": services.set_resp,
        b"set_repl": services.set_repl,
        b"log": services.log,
        b"acl_check": services.acl_check,
        b"register": services.register,
        b"keep_callers": keep_callers,
        b"is_brief": is_brief,
        b"find": bytes.find,
        b"random": chance.random,
        b"seeded_random": seeded.random,
        b"seed": seeded.seed,
        b"sha1hex": numbers.sha1hex,
        b"double_reply": numbers.double_reply,
        b"pack_float": numbers.pack_float,
        b"unpack_float": numbers.unpack_float,
        b"check_clock": services.check_clock,
        **numbers.BIT_OPERATIONS,
    }
    host: dict[bytes, object] = {name: guarded(function) for name, function in functions.items()}
    host[b"version"], host[b"version_number"] = services.version, services.version_number
    return host
