"""Scripts that are sure to end soon, such as locks and rate limiters: they need no pauses.

A brief script has few instructions, each of which runs once at most: no loops, and no functions of
its own. It calls nothing but functions of this module's lists, which take no longer than linear
time. Its globals cannot be changed, so the name of a function says which one it is. Where it is not
clear what a value is, a call of it makes the script one that is not brief.

Source: Lua 5.1, lopcodes.h, for the instructions.
"""

from __future__ import annotations

from commands.scripting.bytecode import read

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
    _MOVE, _LOAD_BOOLEAN, _LOAD_NIL, _GET_GLOBAL, _GET_TABLE, _SELF, _JUMP, _CALL, _FOR_LOOP,
    _FOR_PREPARE, _FOR_IN_LOOP, _SET_LIST, _VARARG,
) = (0, 2, 3, 5, 6, 11, 22, 28, 31, 32, 33, 34, 37)  # fmt: skip
_TAIL_CALL = 29
_NO_JUMP = (1 << 17) - 1  # the distance of a jump is stored with this added
_CONSTANT = 256  # from this on, an operand is a constant, not a register


def is_brief(dumped: bytes) -> bool:
    """Return True if a function, the output of string.dump, is sure to end soon."""
    function = read(dumped)
    if function is None or function.functions or len(function.instructions) > _MOST_INSTRUCTIONS:
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
