"""How the entries of a frozen node are packed: as they are, compressed, or in columns.

* By a layout (storage/entries/layout.py) where entries are short, of one length, and alike, and
  their IDs proceed in equal steps. It is only used if the entries come back from it byte by byte.
* By a frame (storage/entries/frame.py) and zstd where all of them have the same names: only what
  differs is compressed, to a third less. So it is where this is compiled; interpreted, stripping
  entries takes longer than it saves.
* Compressed by zstd as they are where that saves an eighth or more. Level 1 takes about as long as
  LZ4 to compress, and half the memory; it takes four times as long to open, which the cache of
  opened nodes (storage/nodes/entry_cache.py) makes up for.
* As they are otherwise.

What did not work out for a node is not tried again at once: Packing remembers it for the stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

import zstandard

from protocol.cutter import IS_COMPILED
from storage.entries.column_layout import ColumnLayout
from storage.entries.entry_id import EntryID, format_id
from storage.entries.frame import Frame
from storage.entries.id_columns import is_progression, step_of
from storage.entries.layout import PERIOD, Layout, differing_columns
from storage.entries.number_layout import NumberLayout, find_number

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

_compressor = zstandard.ZstdCompressor(level=1, write_checksum=False, write_dict_id=False)
_decompressor = zstandard.ZstdDecompressor()
# What is compressed comes here first. Were it made in memory of its own each time, as much as it
# takes in the worst case, then what is kept would leave gaps of a tenth between what is given up.
_scratch = bytearray()
# The same for what a frame leaves of entries.
_stripped = bytearray()


def decompress(blob: bytes) -> bytes:
    """What was packed in the form COMPRESSED."""
    return _decompressor.decompress(blob)


class Packing:
    """What was learned from the nodes of a stream that were packed before."""

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
        self, entries: list[bytes], ids: list[EntryID], *, is_even: bool
    ) -> tuple[Form, bytes]:
        """The form and the packed entries, which have these IDs.

        `is_even`: all of them have the same length.
        """
        if is_even and len(entries[0]) <= MAX_ALIKE_BYTES and is_progression(ids):
            if self._layout_pause:
                self._layout_pause -= 1
            elif found := lay_out(entries, ids, self._layout):
                self._layout = found[0]
                return found
            else:
                self._layout_pause = PAUSE
        return self._compress(b"".join(entries), ids[0])

    def _compress(self, payload: bytes, first_id: EntryID) -> tuple[Form, bytes]:
        if self._compression_pause:
            self._compression_pause -= 1
            return AS_IS, payload
        limit = int(len(payload) * WORTHWHILE)
        size = self._strip(payload, first_id)
        if size >= 0 and self._frame is not None:
            form: Form = self._frame
            with memoryview(_stripped)[:size] as stripped:
                packed = _compressed(stripped, limit)
        else:
            form, packed = COMPRESSED, _compressed(payload, limit)
        if packed is not None:
            return form, packed
        self._compression_pause = PAUSE
        return AS_IS, payload

    def _strip(self, payload: bytes, first_id: EntryID) -> int:
        """Have a frame strip the entries into `_stripped`; as Frame.strip()."""
        if len(_stripped) < len(payload):
            _stripped.extend(bytes(len(payload) - len(_stripped)))
        frame = self._frame
        if frame is not None and (size := frame.strip(first_id, payload, _stripped)) >= 0:
            return size
        if self._frame_pause:
            self._frame_pause -= 1
            return -1
        self._frame_pause = PAUSE
        self._frame = Frame(payload)
        return self._frame.strip(first_id, payload, _stripped)


def _compressed(payload: bytes | memoryview, limit: int) -> bytes | None:
    """The payload, compressed by zstd; None if it does not become smaller than `limit`."""
    if len(_scratch) < limit:
        _scratch.extend(bytes(limit - len(_scratch)))
    with memoryview(_scratch)[:limit] as room:
        with _compressor.stream_reader(payload, size=len(payload)) as reader:
            length = reader.readinto(room)
        return bytes(room[:length]) if length < limit else None


def lay_out(
    entries: list[bytes], ids: list[EntryID], known: Layout | None
) -> tuple[Layout, bytes] | None:
    """A layout for entries of one length, and what it makes of them. Their IDs are a progression.

    None if it is no gain. `known`: the layout of entries before, which probably fits these as well.
    """
    count = len(ids)
    length, id_text = len(entries[0]), format_id(ids[0])
    if not MIN_ENTRIES <= count <= PERIOD or len(format_id(ids[-1])) != len(id_text):
        return None
    step = step_of(ids)
    if known is not None and known.fits(length, id_text, step):
        packed = known.squeeze(entries, ids)
        if packed is not None:
            return known, packed
    for layout in _layouts(entries, id_text, step):
        packed = layout.squeeze(entries, ids)
        if packed is not None:
            return layout, packed
    return None


def _layouts(entries: list[bytes], id_text: bytes, step: int) -> Iterator[Layout]:
    """Layouts that these entries may have, the smallest one first. `id_text`: of the first ID."""
    entry = entries[0]
    start = entry.index(id_text) + len(id_text)
    columns = differing_columns(b"".join(entries), len(entry), start)
    number = find_number(entry, columns)
    if number is not None:
        yield NumberLayout(entry, id_text, number, step)
    if len(columns) <= min(MAX_COLUMNS, len(entry) * MAX_SHARE):
        yield ColumnLayout(entry, id_text, columns, step)
