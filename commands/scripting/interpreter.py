"""The Lua interpreter that runs scripts: Lua 5.1 from lupa, sandboxed by our own Lua code.

What scripts can reach is in lua/sandbox.lua; how they are run and stopped is in lua/runner.lua.
This module creates an interpreter, compiles and runs code, and limits the memory.

Rules between Python and Lua, which lupa does not enforce:
  - A Python function that Lua calls never raises: the exception would reach the script as an
    object. `_host_functions` ensures that.
  - It never returns more than there is memory for: if Lua runs out of memory inside such a call,
    the call never returns. `has_room` is checked first; None means that there is no room.
  - No Python object but these functions is passed to Lua, and those only to our own Lua code.

lupa makes an object for each function and passes each value by itself, which takes longer than most
commands do. Compiled, a `Crossing` therefore uses the C interface of lupa's Lua (lua_stack.pxd):
arguments become words, usual replies become values and usual results become replies without lupa
and without Lua code of ours. Unusual values go through lupa and lua/replies.lua, and all values do
if that interface is not found or the code is interpreted; the results are the same.

math.random returns the same numbers after the same seed, on every server. Source: POSIX, drand48:
the generator that Redis took for scripts, with its first state.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import cython

from commands.scripting.source import FLAGS, is_brief, keep_callers
from protocol import replies
from protocol.records import frozen_record
from protocol.request import Cutter, Request, of_words

if TYPE_CHECKING:
    from protocol.requests import Argv

_INTEGER_LIMIT = 1 << 62
_DOUBLE = struct.Struct("<d")


def as_argument(value: float) -> bytes:
    """The text of a number that a script passes to a command. Source: Redis 7.2 and later."""
    if value == value and value not in (float("inf"), float("-inf")):
        whole = int(value)
        if whole == value and -_INTEGER_LIMIT <= whole <= _INTEGER_LIMIT:
            return b"%d" % whole
    return shortest(value)


def shortest(value: float) -> bytes:
    """The shortest decimal text that reads back as `value`, with an exponent if that is shorter.

    Source: Redis 7.2 and later print scores of sorted sets like this.
    """
    if value != value:
        return b"nan"
    if value in (float("inf"), float("-inf")):
        return b"inf" if value > 0 else b"-inf"
    from decimal import Decimal  # not at the start of a server

    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    text, minus = "".join(map(str, digits)), "-" if sign else ""
    magnitude = exponent + len(text) - 1
    if exponent >= 0 and magnitude < len(text) + 7:
        plain = text + "0" * exponent
    elif exponent < 0 and (exponent > -7 or abs(magnitude) < 4):
        padded = text.rjust(1 - exponent, "0")
        plain = f"{padded[:exponent]}.{padded[exponent:]}"
    else:
        fraction = f".{text[1:]}" if len(text) > 1 else ""
        plain = f"{text[0]}{fraction}e{magnitude:+d}"
    return (minus + plain).encode()


def double_reply(value: float, resp: int) -> bytes:
    """The reply that a script's {double=...} stands for."""
    return replies.double(float(value), resp)


def sha1hex(text: bytes) -> bytes:
    """redis.sha1hex."""
    import hashlib  # it loads OpenSSL: not at the start

    return hashlib.sha1(text).hexdigest().encode()


# -- struct and cmsgpack -------------------------------------------------------------------------


def pack_float(layout: bytes, value: float) -> bytes:
    """A float as bytes, in the notation of Python's struct."""
    try:
        return struct.pack(layout.decode(), value)
    except OverflowError:
        return struct.pack(layout.decode(), float("inf") if value > 0 else float("-inf"))


def unpack_float(layout: bytes, data: bytes) -> float:
    """The float that bytes encode."""
    value: float = struct.unpack(layout.decode(), data)[0]
    return value


# -- bit -----------------------------------------------------------------------------------------


def _bits(value: float) -> int:
    """The low 32 bits of a number, rounded to the nearest integer, half to even."""
    # Added to this, a double has its integral part in its lowest bits, as in the library.
    return int.from_bytes(_DOUBLE.pack(value + 6755399441055744.0)[:4], "little")


def _signed(bits: int) -> int:
    bits &= 0xFFFFFFFF
    return bits - (1 << 32) if bits & 0x80000000 else bits


def _fold(combine: Callable[[int, int], int]) -> Callable[..., int]:
    def operation(first: float, *others: float) -> int:
        result = _bits(first)
        for other in others:
            result = combine(result, _bits(other))
        return _signed(result)

    return operation


def _shift(operate: Callable[[int, int], int]) -> Callable[[float, float], int]:
    return lambda value, count: _signed(operate(_bits(value), _bits(count) & 31))


BIT_OPERATIONS: dict[bytes, Callable[..., Any]] = {
    b"bit_tobit": lambda value: _signed(_bits(value)),
    b"bit_bnot": lambda value: _signed(~_bits(value)),
    b"bit_band": _fold(lambda a, b: a & b),
    b"bit_bor": _fold(lambda a, b: a | b),
    b"bit_bxor": _fold(lambda a, b: a ^ b),
    b"bit_lshift": _shift(lambda bits, count: bits << count),
    b"bit_rshift": _shift(lambda bits, count: bits >> count),
    b"bit_arshift": _shift(lambda bits, count: _signed(bits) >> count),
    b"bit_rol": _shift(lambda bits, count: bits << count | bits >> (32 - count)),
    b"bit_ror": _shift(lambda bits, count: bits >> count | bits << (32 - count)),
    b"bit_bswap": lambda value: _signed(int.from_bytes(_bits(value).to_bytes(4, "little"), "big")),
}


_MULTIPLIER, _INCREMENT, _MODULUS = 0x5DEECE66D, 0xB, 1 << 48
_FIRST_STATE = 0x1234ABCD330E
_LOW_BITS_OF_A_SEED = 0x330E
_LIMIT = (1 << 31) - 1


class Chance:
    """One interpreter's sequence."""

    def __init__(self) -> None:
        self._state = _FIRST_STATE

    def random(self) -> float:
        """The next number in [0, 1)."""
        self._state = (self._state * _MULTIPLIER + _INCREMENT) % _MODULUS
        return (self._state >> 17) % _LIMIT / _LIMIT

    def seed(self, value: float) -> None:
        """math.randomseed."""
        self._state = (int(value) & 0xFFFFFFFF) << 16 | _LOW_BITS_OF_A_SEED


# What lua/runner.lua returns: a reply, or False, the text of an error, its source and line, and
# whether it was counted. None and a text are an error that Lua could not catch. A reply of a
# megabyte or more may be in parts.
Result: TypeAlias = "bytes | list[bytes] | tuple[Any, ...]"

NO_WORDS = b"!ERR Lua redis lib command arguments must be strings or integers\r\n"
_AS_ARGUMENT = as_argument
# What is reserved for the interpreter.
_MARGIN_BYTES: cython.long = 1024 * 1024
_NO_WORDS = NO_WORDS  # for compiled code


@cython.cclass
class Compiled:
    """A function of Lua: the object of lupa that keeps it, and its number in native.functions.

    `is_brief`: it is sure to end soon (source.py).
    """

    def __init__(self, function: Any, number: int, is_brief: bool) -> None:
        self.function = function
        self.number = number
        self.is_brief = is_brief


@cython.cclass
class Caller:
    """Runs the commands of scripts (calls.py)."""

    def call_request(self, request: Request) -> bytes:
        """The reply, or an error. Never raises."""
        raise NotImplementedError


@cython.cclass
class Crossing:
    """The way into one Lua state, whose table `native` is empty yet."""

    def __init__(self, lua: Any, native: Any, caller: Caller) -> None:
        self._caller = caller
        self._native = native
        self._table_from = lua.table_from
        self._used: Callable[[], int] = lua.get_memory_used
        self._bound: Callable[[int], None] = lua.set_max_memory
        self._reply: bytes | list[bytes] = b""  # of the function that has run
        self._base_bytes = 0
        self.limit_bytes = 0  # of the memory
        if cython.compiled:
            self._request = Cutter()  # of redis.call: one at a time
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
            add_codecs(self._state, self._native_at)  # type: ignore[name-defined]  # noqa: F821
            self._base_bytes = self.used_bytes() - self._used()
            self._memory = take_over_memory(self._state)  # type: ignore[name-defined]  # noqa: F821
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
            kbytes: cython.long = collector(self._state, COUNT_KBYTES, 0)  # type: ignore[name-defined]  # noqa: F821
            return kbytes * 1024 + 1023 - self._base_bytes
        return self._used()

    def bound(self, limit_bytes: cython.long) -> None:
        """Let Lua use no more memory than that; 0: as much as there is."""
        if cython.compiled and self._memory != cython.NULL:  # type: ignore[attr-defined]
            self._memory.limit = limit_bytes + self._base_bytes if limit_bytes else 0
        else:
            self._bound(limit_bytes)

    def has_room(self, size_bytes: cython.long) -> bool:
        """Return True if there is memory for a value of that size."""
        return self.used_bytes() + size_bytes + _MARGIN_BYTES < self.limit_bytes

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

    def call(self, *arguments: object) -> bytes:
        """redis.call through lupa."""
        words = to_words(arguments)
        return NO_WORDS if words is None else self._caller.call_request(of_words(words))


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


# The memory limit of a script without compiled code.
MEMORY_BYTES = 256 * 1024 * 1024
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

    def call_many(self, packed: bytes) -> bytes:
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
        self._collect_at_bytes = 0
        self.collect()

    # -- memory --------------------------------------------------------------------------------

    @property
    def memory_bytes(self) -> int:
        """The memory that the interpreter uses."""
        return self._crossing.used_bytes()

    def has_room(self, size_bytes: cython.long) -> bool:
        """Return True if Lua has memory for a text of that size."""
        return self._crossing.has_room(size_bytes)

    def collect(self) -> None:
        """Collect garbage; what remains does not count against the next script's limit."""
        self._crossing.bound(0)
        self._collect()
        used_bytes = self._crossing.used_bytes()
        self._crossing.limit_bytes = used_bytes + MEMORY_BYTES
        self._collect_at_bytes = used_bytes + MEMORY_BYTES // 4
        self._crossing.bound(self._crossing.limit_bytes)

    def check_clock_soon(self) -> None:
        """The running script has called something slow: check the clock at its next instruction."""
        self._sethook(self._early_hook, b"", 1)

    # -- code ----------------------------------------------------------------------------------

    def compile(self, source: bytes, chunk_name: bytes) -> Compiled:
        """A function from source. Raises CompileError."""
        if not self.has_room(20 * len(source)):
            self.collect()
        self._crossing.bound(0)
        try:
            function, result, *is_brief = self._compile(source, chunk_name)
        finally:
            self._crossing.bound(self._crossing.limit_bytes)
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
            name, callback, number, is_brief_one, description, *flags = row.values()
            function = Compiled(callback, number, is_brief_one)
            found.append(Registered(name, function, description or None, frozenset(flags)))
        return found

    def run_script(
        self, function: Compiled, resp: cython.int, keys: Argv, rest: Argv
    ) -> bytes | list[bytes] | Failure:
        """The reply of a script of EVAL."""
        return self._run(function, True, resp, keys, rest)

    def run_function(
        self, function: Compiled, resp: cython.int, keys: Argv, rest: Argv
    ) -> bytes | list[bytes] | Failure:
        """The reply of a function of a library."""
        return self._run(function, False, resp, keys, rest)

    def _run(
        self, function: Compiled, is_script: cython.bint, resp: cython.int, keys: Argv, rest: Argv
    ) -> bytes | list[bytes] | Failure:
        size_bytes = _memory_of(keys) + _memory_of(rest)
        if self._crossing.used_bytes() + size_bytes >= self._collect_at_bytes:
            self.collect()
            if not self.has_room(size_bytes):
                return Failure(_OUT_OF_MEMORY)
        try:
            result = self._crossing.run(function, is_script, resp, keys, rest)
        except Exception as error:  # Lua could not catch it: it has no memory left
            result = (None, repr(error).encode("utf-8", "replace"))
        if type(result) is bytes or type(result) is list:
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
    from commands.scripting.interpreter import Chance

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
        b"sha1hex": sha1hex,
        b"double_reply": double_reply,
        b"pack_float": pack_float,
        b"unpack_float": unpack_float,
        b"check_clock": services.check_clock,
        **BIT_OPERATIONS,
    }
    host: dict[bytes, object] = {name: guarded(function) for name, function in functions.items()}
    host[b"version"], host[b"version_number"] = services.version, services.version_number
    return host
