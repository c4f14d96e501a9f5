"""Compiled Lua functions whose calls keep the caller's frame.

`return f(x)` is a tail call: Lua discards the caller's frame before f runs, and with it the line
that an error in f should name. Redis's own functions are C, for which Lua keeps the frame; ours are
Lua. So every tail call of a script becomes a plain call, and the next instruction returns its
results. A script that relies on tail calls to recurse more than 20,000 deep gets a stack overflow.

Accepts only output of string.dump. Source: Lua 5.1, ldump.c and lopcodes.h, for the format.
"""

from __future__ import annotations

import struct

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
        self._at += 12  # first and last line; upvalues, parameters, varargs, stack
        instructions = self._instructions()
        constants = [self._constant() for _ in range(self._size(4))]
        functions = self._size(4)
        for _ in range(functions):
            self.function()
        # Of the outermost function, which ends last.
        self.instructions, self.constants, self.functions = instructions, constants, functions
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
