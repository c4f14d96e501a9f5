"""The way between Python and a Lua state: runs compiled functions, and offers redis.call.

lupa makes an object for each function and passes each value by itself, which takes longer than most
commands do. Compiled, a crossing therefore uses the C interface of lupa's Lua (lua_stack.pxd):
arguments become words, usual replies become values and usual results become replies without lupa,
and without Lua code of ours. What is not usual, and everything where that interface cannot be
found, or the code is interpreted, goes the way through lupa and lua/replies.lua; both have the same
results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import cython

from commands.scripting.numbers import as_argument

if TYPE_CHECKING:
    from protocol.requests import Argv

# What lua/runner.lua returns: a reply, or False, the text of an error, its source and line, and
# whether it was counted. None and a text are an error that Lua could not catch.
Result: TypeAlias = "bytes | tuple[Any, ...]"

NO_WORDS = b"!ERR Lua redis lib command arguments must be strings or integers\r\n"
_NO_WORDS = NO_WORDS  # for compiled code


@cython.cclass
class Compiled:
    """A function of Lua: the object of lupa that keeps it, and its number in native.functions.

    `is_brief`: it is sure to end soon (brevity.py).
    """

    def __init__(self, function: Any, number: int, is_brief: bool) -> None:
        self.function = function
        self.number = number
        self.is_brief = is_brief


@cython.cclass
class Caller:
    """Runs the commands of scripts (calls.py)."""

    def call_words(self, words: Argv) -> bytes | None:
        """The reply, or an error; None if there is no memory for it. Never raises."""
        raise NotImplementedError

    def has_room(self, size_bytes: cython.longlong) -> bool:
        """Return True if Lua has memory for a value of that size."""
        raise NotImplementedError


@cython.cclass
class Crossing:
    """The way into one Lua state, whose table `native` is empty yet."""

    def __init__(self, lua: Any, native: Any, caller: Caller) -> None:
        self._caller = caller
        self._native = native
        self._table_from = lua.table_from
        self._used: Callable[[], int] = lua.get_memory_used
        self._reply = b""  # of the function that has run
        self._base_bytes = 0
        self.is_direct = cython.compiled and self._open(lua, native)

    def _open(self, lua: Any, native: Any) -> bool:
        """Find Lua's C interface, and the state that lupa has made. False: there is none."""
        if cython.compiled:
            import ctypes

            from lupa import lua51

            library = ctypes.CDLL(lua51.__file__)
            try:
                found = [getattr(library, name) for name in interface_names()]  # type: ignore[name-defined]  # noqa: F821
            except AttributeError:
                return False
            set_interface([ctypes.cast(one, ctypes.c_void_p).value for one in found])  # type: ignore[name-defined]  # noqa: F821
            load = lua.eval(b"package.loadlib")
            opener = load(__file__.encode(), b"rillway_open")
            if type(opener) is tuple:
                return False  # nil and the reason
            opener(native)
            set_handlers()  # type: ignore[name-defined]  # noqa: F821
            self._state = opened_state  # type: ignore[name-defined]  # noqa: F821
            self._native_at = opened_native  # type: ignore[name-defined]  # noqa: F821
            add_crossing(self._state, self._native_at, self)  # type: ignore[name-defined]  # noqa: F821
            self._base_bytes = self.used_bytes() - self._used()
        return True

    def find_functions(self) -> None:
        """Find what lua/runner.lua has added to `native`."""
        self._runs = {name: self._native[name] for name in (b"run_script", b"run_function")}
        if cython.compiled and self.is_direct:
            state, at = self._state, self._native_at
            self._functions_at = reference_of(state, at, b"functions")  # type: ignore[name-defined]  # noqa: F821
            self._run_script_at = reference_of(state, at, b"run_script")  # type: ignore[name-defined]  # noqa: F821
            self._run_function_at = reference_of(state, at, b"run_function")  # type: ignore[name-defined]  # noqa: F821

    def used_bytes(self) -> int:
        """The memory that Lua uses, without what it needs when it is empty."""
        if cython.compiled and self.is_direct:
            kbytes: cython.longlong = collector(self._state, COUNT_KBYTES, 0)  # type: ignore[name-defined]  # noqa: F821
            return kbytes * 1024 + 1023 - self._base_bytes
        return self._used()

    def run(
        self, function: Compiled, is_script: cython.bint, resp: cython.int, keys: Argv, rest: Argv
    ) -> Result:
        """Run a function with its arguments, for which there must be room.

        Raises what lupa raises if there is no memory left.
        """
        if cython.compiled and self.is_direct:
            run_at = self._run_script_at if is_script else self._run_function_at
            number: cython.int = function.number
            state, functions = self._state, self._functions_at
            result = run_function(state, run_at, functions, number, resp, keys, rest)  # type: ignore[name-defined]  # noqa: F821
            return self._reply if result is True else result
        run = self._runs[b"run_script" if is_script else b"run_function"]
        tables = self._table_from(keys), self._table_from(rest)
        return run(function.function, resp, *tables)  # type: ignore[no-any-return]

    # -- called by Lua -------------------------------------------------------------------------

    def call(self, *arguments: object) -> bytes | None:
        """redis.call through lupa."""
        words = to_words(arguments)
        return NO_WORDS if words is None else self._caller.call_words(words)


def let_others_run() -> None:
    """Let other threads run, if they wait: a function that runs directly keeps Python's lock."""
    if cython.compiled:
        release_lock()  # type: ignore[name-defined]  # noqa: F821


def to_words(arguments: Any) -> list[bytes] | None:
    """Arguments of redis.call, as words; None if one is neither a string nor a number."""
    words: list[bytes] = []
    for argument in arguments:
        if type(argument) is bytes:
            words.append(argument)
        elif type(argument) in (int, float):
            words.append(as_argument(argument))
        else:
            return None
    return words
