"""The forms of a frozen node's packed entries: by a layout, by a frame, compressed, or as they are.

* By a layout (storage/entries/layout.py) if entries are short, of one length, and alike, and their
  IDs proceed in equal steps. It is only used if it restores exactly the same entries.
* By a frame (storage/entries/frame.py) and zstd if all of them have the same names: only the
  differences are compressed, and the result is a third smaller. Only compiled code does so;
  interpreted, stripping entries takes longer than it saves.
* Compressed by zstd as they are if that saves an eighth or more. Level 1 takes about as long as
  LZ4 to compress, and half the memory; it takes four times as long to open, which the cache of
  opened nodes (storage/nodes/entry_cache.py) makes up for.
* As they are otherwise.

A form that does not suit a node is not tried for the stream's next nodes (`Packing`).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

import cython

from protocol.cutter import IS_COMPILED
from storage.entries.column_layout import ColumnLayout
from storage.entries.entry_id import EntryID, format_id
from storage.entries.frame import Frame
from storage.entries.id_columns import IDProgression, NodeIDs
from storage.entries.layout import PERIOD, Layout, differing_columns
from storage.entries.number_layout import NumberLayout, find_number
from storage.zstd import compress

if TYPE_CHECKING:
    from storage.nodes.entry_cache import EntryCache

# Compressed entries have to be smaller by an eighth at least, or it does not pay to open them.
WORTHWHILE = 7 / 8

# Longer entries are not looked at for what they have in common: compression does it as well.
MAX_ALIKE_BYTES = 256

# Unpacking a node costs a step for each column: it must pay for this many entries, ...
MIN_ENTRIES = 16
# ... with at most this many columns, and no more than this share of an entry.
MAX_COLUMNS = 32
MAX_SHARE = 1 / 2

# After a failed attempt, this many nodes are packed without another one.
PAUSE = 15
# A number of entries that no stream reaches.
NEVER = 1 << 62


class Plain(Enum):
    """Forms without a layout."""

    AS_IS = 0
    COMPRESSED = 1


AS_IS, COMPRESSED = Plain.AS_IS, Plain.COMPRESSED
Form: TypeAlias = Layout | Frame | Plain

# The output of a frame: stripped entries.
_stripped = bytearray()


def form_bytes(form: Form) -> int:
    """The memory of a form in bytes; nodes share it."""
    return 0 if isinstance(form, Plain) else form.memory_bytes()


class Packing:
    """The choice of forms for a stream's nodes, learned from the nodes that were packed before."""

    __slots__ = (
        "_compression_pause",
        "_frame",
        "_frame_pause",
        "_layout",
        "_layout_pause",
        "cache",
    )

    def __init__(self, *, has_frames: bool = IS_COMPILED) -> None:
        # The cache of unpacked entries; None until the stream is stored in a database.
        self.cache: EntryCache | None = None
        self._layout: Layout | None = None
        self._frame: Frame | None = None
        # The number of nodes until the next attempt.
        self._layout_pause = 0
        self._frame_pause = 0 if has_frames else NEVER
        self._compression_pause = 0

    def pack(
        self, text: bytearray, size: int, length: int, first_id: EntryID, ids: NodeIDs
    ) -> tuple[Form, bytes]:
        """The form and the packed entries, which are the first `size` bytes of `text`.

        `length`: of each of them, 0 if they have several. `ids`: theirs, of which this is the
        first.
        """
        if 0 < length <= MAX_ALIKE_BYTES and isinstance(ids, IDProgression):
            if self._layout_pause:
                self._layout_pause -= 1
            elif found := lay_out(
                _first_bytes(text, size), length, first_id, ids.step, self._layout
            ):
                self._layout = found[0]
                return found
            else:
                self._layout_pause = PAUSE
        return self._compress(text, size, first_id)

    def _compress(self, text: bytearray, size: int, first_id: EntryID) -> tuple[Form, bytes]:
        if self._compression_pause:
            self._compression_pause -= 1
            return AS_IS, _first_bytes(text, size)
        limit = int(size * WORTHWHILE)
        stripped = self._strip(text, size, first_id)
        if stripped >= 0 and self._frame is not None:
            form: Form = self._frame
            packed = _compressed(_stripped, stripped, limit)
        else:
            form, packed = COMPRESSED, _compressed(text, size, limit)
        if packed is not None:
            return form, packed
        self._compression_pause = PAUSE
        return AS_IS, _first_bytes(text, size)

    def _strip(self, text: bytearray, size: int, first_id: EntryID) -> int:
        """Strip the entries into `_stripped` by a frame; return what Frame.strip() returns."""
        if len(_stripped) < size:
            _stripped.extend(bytes(size - len(_stripped)))
        frame = self._frame
        if frame is not None:
            stripped = frame.strip(first_id, text, size, _stripped)
            if stripped >= 0:
                return stripped
        if self._frame_pause:
            self._frame_pause -= 1
            return -1
        self._frame_pause = PAUSE
        self._frame = Frame(text)
        return self._frame.strip(first_id, text, size, _stripped)


@cython.ccall
def _first_bytes(text: bytearray, size: cython.Py_ssize_t) -> bytes:
    """A copy of the first `size` bytes."""
    data: cython.p_uchar = text
    return bytes(data[:size])


def _compressed(text: bytearray, size: int, limit: int) -> bytes | None:
    """The first `size` bytes, compressed by zstd; None if that is not below `limit`."""
    with memoryview(text)[:size] as payload:
        packed = compress(payload)
    return packed if len(packed) < limit else None


def lay_out(
    payload: bytes, length: int, first_id: EntryID, step: int, known: Layout | None
) -> tuple[Layout, bytes] | None:
    """A layout for entries of this length, and what it makes of them; None if it is no gain.

    Their IDs proceed in equal steps. `known`: the layout of entries before, which probably fits
    these as well.
    """
    count = len(payload) // length
    id_text, last_text = format_id(first_id), format_id(first_id + (count - 1) * step)
    if not MIN_ENTRIES <= count <= PERIOD or len(last_text) != len(id_text):
        return None
    if known is not None and known.fits(length, id_text, step):
        packed = known.squeeze(payload, first_id)
        if packed is not None:
            return known, packed
    for layout in _layouts(payload, length, id_text, step):
        packed = layout.squeeze(payload, first_id)
        if packed is not None:
            return layout, packed
    return None


def _layouts(payload: bytes, length: int, id_text: bytes, step: int) -> Iterator[Layout]:
    """Layouts that these entries may have, the smallest one first. `id_text`: of the first ID."""
    entry = payload[:length]
    start = entry.index(id_text) + len(id_text)
    columns = differing_columns(payload, length, start)
    number = find_number(entry, columns)
    if number is not None:
        yield NumberLayout(entry, id_text, number, step)
    if len(columns) <= min(MAX_COLUMNS, length * MAX_SHARE):
        yield ColumnLayout(entry, id_text, columns, step)
