"""Compiled Lua functions whose calls keep the caller's frame.

`return f(x)` is a tail call: Lua discards the caller's frame before f runs, and with it the line
that an error in f should name. Redis's own functions are C, for which Lua keeps the frame; ours are
Lua. So every tail call of a script becomes a plain call, and the next instruction returns its
results. A script that relies on tail calls to recurse more than 20,000 deep gets a stack overflow.

Accepts only output of string.dump. Source: Lua 5.1, ldump.c and lopcodes.h, for the format.
"""

from __future__ import annotations

_HEADER = b"\x1bLuaQ\x00\x01\x04\x08\x04\x08\x00"  # Lua 5.1, little-endian, 64 bits
_OPCODE_BITS = 0x3F
_CALL, _TAIL_CALL = 28, 29
_NIL, _BOOLEAN, _NUMBER, _STRING = 0, 1, 3, 4


def keep_callers(dumped: bytes) -> bytes | None:
    """The function without tail calls; None if it has none, or is not such bytecode."""
    if not dumped.startswith(_HEADER):
        return None
    code = bytearray(dumped)
    patcher = _Patcher(code, len(_HEADER))
    patcher.function()
    return bytes(code) if patcher.found else None


class _Patcher:
    """Visits the functions of a chunk."""

    def __init__(self, code: bytearray, position: int) -> None:
        self._code = code
        self._at = position
        self.found = False

    def _size(self, width: int) -> int:
        start = self._at
        self._at += width
        return int.from_bytes(self._code[start : self._at], "little")

    def _skip_string(self) -> None:
        length = self._size(8)
        self._at += length

    def _skip_constant(self) -> None:
        kind = self._size(1)
        if kind == _BOOLEAN:
            self._at += 1
        elif kind == _NUMBER:
            self._at += 8
        elif kind == _STRING:
            self._skip_string()
        else:
            assert kind == _NIL, kind

    def function(self) -> None:
        """Patch one function and those in it."""
        self._skip_string()
        self._at += 12  # first and last line; upvalues, parameters, varargs, stack
        self._instructions()
        for _ in range(self._size(4)):
            self._skip_constant()
        for _ in range(self._size(4)):
            self.function()
        lines = self._size(4)  # one for each instruction
        self._at += 4 * lines
        for _ in range(self._size(4)):
            self._skip_string()
            self._at += 8  # where a local variable begins and ends
        for _ in range(self._size(4)):
            self._skip_string()

    def _instructions(self) -> None:
        code, count = self._code, self._size(4)
        end = self._at + 4 * count
        for position in range(self._at, end, 4):
            if code[position] & _OPCODE_BITS == _TAIL_CALL:
                code[position] = code[position] & ~_OPCODE_BITS | _CALL
                self.found = True
        self._at = end
