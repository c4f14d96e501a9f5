"""What is read of a script before it runs: its first line, and its bytecode.

The first line is `#!lua name=... flags=...`.

`keep_callers`: `return f(x)` is a tail call. Lua discards the caller's frame before f runs, and
with it the line that an error in f should name. Redis's own functions are C, for which Lua keeps
the frame; ours are Lua. So every tail call of a script becomes a plain call, and the next
instruction returns its results. A script that relies on tail calls to recurse more than 20,000 deep
gets a stack overflow.

`is_brief`: a script that is sure to end soon, such as a lock or a rate limiter, needs no pauses. It
has few instructions, each of which runs once at most: no loops, and no functions of its own. It
calls only functions of this module's lists, which take linear time at most. Its globals cannot be
changed, so the name of a function identifies it. A call of a value that may be something else makes
the script one that is not brief. The same goes for a function of a library; it has no upvalues,
which could be tables with metamethods.

Bytecode is the output of string.dump. Source: Lua 5.1, ldump.c and lopcodes.h; for the first line,
Redis 7.0.15, flags of 7.2 and later.
"""

from __future__ import annotations

import re
import struct

from protocol.errors import ReplyError
from protocol.records import frozen_record
from protocol.requests import split_inline

_NAME = rb"[A-Za-z0-9_]+"

FLAGS = (b"no-writes", b"allow-oom", b"allow-stale", b"no-cluster", b"allow-cross-slot-keys")


@frozen_record
class Script:
    """The source of a script of EVAL, as passed to Lua, and what its first line says."""

    source: bytes  # the first line is empty, so that the others keep their numbers
    flags: frozenset[bytes]
    has_shebang: bool


def parse_script(body: bytes) -> Script:
    """A script of EVAL. Raises ReplyError."""
    if not body.startswith(b"#!"):
        return Script(body, frozenset(), False)
    line, newline, rest = body.partition(b"\n")
    if not newline:
        raise ReplyError(b"ERR Invalid script shebang")
    words = line.split()
    if not words or words[0] != b"#!lua":
        raise ReplyError(b"ERR Unexpected engine in script shebang: %b" % (words or [b""])[0])
    flags: frozenset[bytes] = frozenset()
    for word in words[1:]:
        if not word.startswith(b"flags="):
            raise ReplyError(b"ERR Unknown lua shebang option: %b" % word)
        named = [flag for flag in word[len(b"flags=") :].split(b",") if flag]
        for flag in named:
            if flag not in FLAGS:
                raise ReplyError(b"ERR Unexpected flag in script shebang: %b" % flag)
        flags = flags.union(named)
    return Script(newline + rest, flags, True)


@frozen_record
class LibrarySource:
    """The source of a library, and what its first line says."""

    engine: bytes
    name: bytes
    source: bytes


def parse_library(code: bytes) -> LibrarySource:
    """A library's source. Raises ReplyError."""
    if not code.startswith(b"#!"):
        raise ReplyError(b"ERR Missing library metadata")
    line, newline, rest = code.partition(b"\n")
    words = split_inline(line) if newline else None
    if not words:
        raise ReplyError(b"ERR Invalid library metadata")
    name: bytes | None = None
    for word in words[1:]:
        if not word.lower().startswith(b"name="):
            raise ReplyError(b"ERR Invalid metadata value given: %b" % word)
        if name is not None:
            raise ReplyError(b"ERR Invalid metadata value, name argument was given multiple times")
        name = word[len(b"name=") :]
    if name is None:
        raise ReplyError(b"ERR Library name was not given")
    check_name(name)
    return LibrarySource(words[0][2:], name, newline + rest)


def check_name(name: bytes) -> None:
    """Raise ReplyError if it is not a valid name of a library or function."""
    if not re.fullmatch(_NAME, name):
        raise ReplyError(
            b"ERR Library names can only contain letters, numbers, or underscores(_) and must be"
            b" at least one character long"
        )


_HEADER = b"\x1bLuaQ\x00\x01\x04\x08\x04\x08\x00"  # Lua 5.1, little-endian, 64 bits
_OPCODE_BITS = 0x3F
_INSTRUCTION = struct.Struct("<I")
_CALL, _TAIL_CALL = 28, 29
_NIL, _BOOLEAN, _NUMBER, _STRING = 0, 1, 3, 4


def keep_callers(dumped: bytes) -> bytes | None:
    """The function without tail calls; None if it has none, or is not such bytecode."""
    patcher = read(dumped)
    return bytes(patcher.code) if patcher is not None and patcher.found else None


def read(dumped: bytes) -> Patcher | None:
    """The parts of a function; None if it is not such bytecode."""
    if not dumped.startswith(_HEADER):
        return None
    patcher = Patcher(bytearray(dumped), len(_HEADER))
    patcher.function()
    return patcher


class Patcher:
    """Visits the functions of a chunk."""

    def __init__(self, code: bytearray, position: int) -> None:
        self.code = code
        self._at = position
        self.found = False
        self.instructions: list[int] = []
        self.constants: list[bytes | None] = []
        self.functions = 0  # within it
        self.upvalues = 0

    def _size(self, width: int) -> int:
        start = self._at
        self._at += width
        return int.from_bytes(self.code[start : self._at], "little")

    def _string(self) -> bytes:
        length = self._size(8)
        self._at += length
        return bytes(self.code[self._at - length : self._at])

    def _constant(self) -> bytes | None:
        """The next constant, if it is a string."""
        kind = self._size(1)
        if kind == _BOOLEAN:
            self._at += 1
        elif kind == _NUMBER:
            self._at += 8
        elif kind == _STRING:
            return self._string()[:-1]  # a zero ends it
        else:
            assert kind == _NIL, kind
        return None

    def function(self) -> None:
        """Patch one function and those in it."""
        self._string()
        upvalues = self.code[self._at + 8]
        self._at += 12  # first and last line; upvalues, parameters, varargs, stack
        instructions = self._instructions()
        constants = [self._constant() for _ in range(self._size(4))]
        functions = self._size(4)
        for _ in range(functions):
            self.function()
        # Of the outermost function, which ends last.
        self.instructions, self.constants, self.functions = instructions, constants, functions
        self.upvalues = upvalues
        lines = self._size(4)  # one for each instruction
        self._at += 4 * lines
        for _ in range(self._size(4)):
            self._string()
            self._at += 8  # where a local variable begins and ends
        for _ in range(self._size(4)):
            self._string()

    def _instructions(self) -> list[int]:
        code, count = self.code, self._size(4)
        end = self._at + 4 * count
        for position in range(self._at, end, 4):
            if code[position] & _OPCODE_BITS == _TAIL_CALL:
                code[position] = code[position] & ~_OPCODE_BITS | _CALL
                self.found = True
        numbers = memoryview(self.code)[self._at : end]
        self._at = end
        return [number for (number,) in _INSTRUCTION.iter_unpack(numbers)]


# One instruction can take long if it compares or joins long texts.
_MOST_INSTRUCTIONS = 500
_FUNCTIONS = frozenset((b"tonumber", b"tostring", b"type", b"assert", b"error", b"select"))
_LIBRARIES = {
    b"redis": frozenset(
        (b"call", b"pcall", b"error_reply", b"status_reply", b"sha1hex", b"setresp")
    ),
    b"math": frozenset((b"abs", b"ceil", b"floor", b"fmod", b"max", b"min", b"modf")),
    b"string": frozenset((b"byte", b"format", b"len", b"lower", b"sub", b"upper")),
}
_LIBRARIES[b"server"] = _LIBRARIES[b"redis"]  # Valkey's name
_IS_FUNCTION = b"function"  # what a register holds, if it is no library
(
    _MOVE, _LOAD_BOOLEAN, _LOAD_NIL, _GET_GLOBAL, _GET_TABLE, _SELF, _JUMP, _FOR_LOOP,
    _FOR_PREPARE, _FOR_IN_LOOP, _SET_LIST, _VARARG,
) = (0, 2, 3, 5, 6, 11, 22, 31, 32, 33, 34, 37)  # fmt: skip
_NO_JUMP = (1 << 17) - 1  # the distance of a jump is stored with this added
_CONSTANT = 256  # from this on, an operand is a constant, not a register


def is_brief(dumped: bytes) -> bool:
    """Return True if a function, the output of string.dump, is sure to end soon."""
    function = read(dumped)
    if function is None or len(function.instructions) > _MOST_INSTRUCTIONS:
        return False
    if function.functions or function.upvalues:
        return False
    return _Reader(function.constants).calls_only_what_is_listed(function.instructions)


class _Reader:
    """Knows which registers hold a listed function, or a library, and since which instruction."""

    def __init__(self, constants: list[bytes | None]) -> None:
        self._constants = constants
        self._known: dict[int, tuple[bytes, int]] = {}
        self._jumps: dict[int, int] = {}  # to an instruction: the first that jumps there

    def calls_only_what_is_listed(self, instructions: list[int]) -> bool:
        """Read the instructions of a function, one after the other; False if one may take long."""
        return all(self._read(place, number) for place, number in enumerate(instructions))

    def _read(self, place: int, number: int) -> bool:
        operation, a, c, b = number & 63, number >> 6 & 255, number >> 14 & 511, number >> 23
        if place in self._jumps:
            self._forget_since(self._jumps[place])
        if operation in (_FOR_LOOP, _FOR_PREPARE, _FOR_IN_LOOP):
            return False
        if operation == _JUMP:
            target = place + 1 + (number >> 14) - _NO_JUMP
            self._jumps.setdefault(target, place)
            return target > place
        if operation == _LOAD_BOOLEAN and c:
            self._jumps.setdefault(place + 2, place)
        if operation == _SET_LIST and not c:
            return False  # the next instruction is none
        if operation in (_CALL, _TAIL_CALL):
            is_listed = self._known.get(a, (b"", 0))[0] == _IS_FUNCTION
            self._forget_from(a)
            return is_listed
        if operation in (_LOAD_NIL, _SELF, _VARARG):
            self._forget_from(a)
        what = self._result(operation, b, c, number >> 14)
        if what:
            self._known[a] = what, place
        else:
            self._known.pop(a, None)
        return True

    def _result(self, operation: int, b: int, c: int, constant: int) -> bytes | None:
        """What an instruction leaves in its register: a listed function or a library, if known."""
        if operation == _MOVE:
            return self._known.get(b, (None, 0))[0]
        if operation == _GET_GLOBAL:
            name = self._constants[constant] or b""
            if name in _FUNCTIONS:
                return _IS_FUNCTION
            return name if name in _LIBRARIES else None
        if operation == _GET_TABLE and c >= _CONSTANT and b in self._known:
            name = self._constants[c - _CONSTANT] or b""
            library = _LIBRARIES.get(self._known[b][0], frozenset())
            return _IS_FUNCTION if name in library else None
        return None

    def _forget_from(self, register: int) -> None:
        self._known = {a: what for a, what in self._known.items() if a < register}

    def _forget_since(self, place: int) -> None:
        """Forget what was set after an instruction that jumps here: it may not have run."""
        self._known = {a: what for a, what in self._known.items() if what[1] < place}
