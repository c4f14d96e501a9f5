"""Values of unsupported types in RDB files: their names, and how to skip them.

A file written by Redis may have values of modules. Skipping them needs only their outermost layout.

Leaves out: the contents of a value. Types of unknown layout cannot be skipped, and have a name
only.
"""

from __future__ import annotations

from collections.abc import Callable

from storage.redis_format.primitives import Cursor

# How a module's values say what follows.
_MODULE_EOF = 0
_MODULE_SIGNED = 1
_MODULE_UNSIGNED = 2
_MODULE_FLOAT = 3
_MODULE_DOUBLE = 4
_MODULE_STRING = 5

# A module's name is nine characters of six bits each, above ten bits of a version.
_MODULE_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_MODULE_NAME_LENGTH = 9
_MODULE_VERSION_BITS = 10


class UnsupportedValue(Exception):
    """A value of a type that Rillway does not hold, at `offset` in the buffer."""

    def __init__(self, offset: int, key: bytes, type_name: str) -> None:
        of_key = f" of key {key!r}" if key else ""
        super().__init__(f"{type_name}{of_key} is not supported (at offset {offset})")
        self.offset = offset
        self.key = key
        self.type_name = type_name


def type_name(cursor: Cursor, type_code: int) -> str:
    """The name of a value's type; the cursor is after its key and stays there."""
    if type_code == MODULE:
        return module_name(Cursor(cursor.buffer, cursor.position, cursor.end).length())
    return _NAMES.get(type_code, f"type {type_code}")


def module_name(module_id: int) -> str:
    """Return a module type's own name, decoded from its ID, for messages."""
    bits = module_id >> _MODULE_VERSION_BITS
    indexes = [bits >> 6 * place & 63 for place in reversed(range(_MODULE_NAME_LENGTH))]
    name = "".join(_MODULE_CHARACTERS[index] for index in indexes)
    return f"module type {name}"


def can_skip(type_code: int) -> bool:
    """Return True if `skip_value` can find the end of a value of this type."""
    return type_code in _SKIPS


def skip_value(cursor: Cursor, type_code: int) -> None:
    """Pass over a value. Raises CorruptSnapshot if it reaches beyond the end."""
    _SKIPS[type_code](cursor)


def skip_module_parts(cursor: Cursor) -> None:
    """Pass over what a module wrote, up to and with its end mark."""
    while True:
        start = cursor.position
        part = cursor.length()
        if part == _MODULE_EOF:
            return
        if part in (_MODULE_SIGNED, _MODULE_UNSIGNED):
            cursor.length()
        elif part == _MODULE_FLOAT:
            cursor.skip(4)
        elif part == _MODULE_DOUBLE:
            cursor.skip(8)
        elif part == _MODULE_STRING:
            cursor.skip_string()
        else:
            cursor.position = start
            raise cursor.corrupt(f"{part} is no part of a module's value")


# -- one layout each ---------------------------------------------------------------------------


def _module(cursor: Cursor) -> None:
    cursor.length()
    skip_module_parts(cursor)


MODULE = 7

_NAMES = {
    6: "module value of a release candidate of Redis 4",
    28: "array",
    29: "hash with a template",
    31: "hash with a template",
}  # fmt: skip

_SKIPS: dict[int, Callable[[Cursor], None]] = {
    MODULE: _module,
}
