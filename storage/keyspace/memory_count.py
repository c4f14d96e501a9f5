"""The memory that the keys and values of a database take.

Each value knows its own size in constant time (`Value.memory_bytes`). A command changes a value in
many small steps, and so the difference is added later, once for all of them: what looks a value up
to change it calls `note`, and `settle` adds up what has become of the noted values.

    count.note(value)     before or after a change; cheap if it is noted already
    count.settle()
    count.bytes           of all keys and values, as of the last `settle`

Leaves out: the tables of a database, and the memory of anything but data
(commands/eviction/memory_use.py).
"""

from __future__ import annotations

import cython

from storage.types.value import UNCOUNTED, Value

# At this number of noted values the older half is settled: the command that runs may still change
# the others.
MOST_NOTED = 16384
# How far back a removed value is searched among the noted ones.
RECENT = 64
_MOST_NOTED: cython.Py_ssize_t = MOST_NOTED
_RECENT: cython.Py_ssize_t = RECENT
_UNCOUNTED: cython.longlong = UNCOUNTED


@cython.cclass
class MemoryCount:
    """The bytes of one database's keys and values."""

    __slots__ = ("_noted", "bytes")

    def __init__(self) -> None:
        self.bytes = 0
        self._noted: list[Value] = []

    def note(self, value: Value) -> None:
        """The size of a value may change, or has changed."""
        if not value.has_changed:
            value.has_changed = True
            self._noted.append(value)
            if len(self._noted) >= _MOST_NOTED:
                self._settle_older(_MOST_NOTED // 2)

    def settle(self) -> None:
        """Count what has become of the noted values. Not while a command changes them."""
        value: Value
        for value in self._noted:
            value.has_changed = False
            if value.counted_bytes != _UNCOUNTED:
                size_bytes: cython.longlong = value.memory_bytes()
                self.bytes += size_bytes - value.counted_bytes
                value.counted_bytes = size_bytes
        self._noted.clear()

    def add(self, value: Value, key_bytes: cython.longlong) -> None:
        """A value is stored at a new key of that size."""
        value.counted_bytes = 0
        self.bytes += key_bytes
        self.note(value)

    def exchange(self, old: Value, new: Value) -> None:
        """A value is replaced at its key, by itself perhaps."""
        if old is not new:
            self._forget(old)
            new.counted_bytes = 0
        self.note(new)

    def subtract(self, value: Value, key_bytes: cython.longlong) -> None:
        """A value and its key of that size are removed."""
        self._forget(value)
        self.bytes -= key_bytes

    @cython.cfunc
    def _forget(self, value: Value) -> None:
        if value.has_changed:
            self._drop(value)  # so that it is not kept alive
        self.bytes -= value.counted_bytes
        value.counted_bytes = _UNCOUNTED

    @cython.cfunc
    def _drop(self, value: Value) -> None:
        noted = self._noted
        place: cython.Py_ssize_t = len(noted) - 1
        for _ in range(min(_RECENT, len(noted))):
            if noted[place] is value:
                value.has_changed = False
                del noted[place]
                return
            place -= 1
        self._settle_older(_RECENT)

    @cython.cfunc
    def _settle_older(self, recent: cython.Py_ssize_t) -> None:
        """Settle all but the last values."""
        kept = self._noted[-recent:]
        del self._noted[-recent:]
        self.settle()
        self._noted += kept
