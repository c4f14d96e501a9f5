"""How the entries of a frozen node are packed: as they are, compressed, or in columns.

* In columns (storage/layout.py) where entries are short, of one length, and alike, and their IDs
  proceed in equal steps.
* Compressed by zstd where that saves an eighth or more. Level 1 takes about as long as LZ4 to
  compress, and half the memory; it takes four times as long to open, which the cache of opened
  nodes (storage/opened.py) makes up for.
* As they are otherwise.

What did not work out for a node is not tried again at once: Packing remembers it for the stream.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

import zstandard

from storage.entry_id import EntryID
from storage.id_columns import may_progress
from storage.layout import Layout, lay_out

# Compressed entries have to be smaller by an eighth at least, or it does not pay to open them.
WORTHWHILE = 7 / 8

# Longer entries are not looked at for what they have in common: compression does it as well.
MAX_ALIKE_BYTES = 256

# After an attempt in vain, so many nodes are packed without another one.
PAUSE = 15


class Plain(Enum):
    """Forms without a layout."""

    AS_IS = 0
    COMPRESSED = 1


AS_IS, COMPRESSED = Plain.AS_IS, Plain.COMPRESSED
Form: TypeAlias = Layout | Plain

_compressor = zstandard.ZstdCompressor(level=1, write_checksum=False, write_dict_id=False)
_decompressor = zstandard.ZstdDecompressor()


def decompress(blob: bytes) -> bytes:
    """What was packed in the form COMPRESSED."""
    return _decompressor.decompress(blob)


class Packing:
    """What was learned from the nodes of a stream that were packed before."""

    __slots__ = ("_compression_pause", "_layout", "_layout_pause")

    def __init__(self) -> None:
        self._layout: Layout | None = None
        # For so many nodes more nothing is tried.
        self._layout_pause = 0
        self._compression_pause = 0

    def pack(self, payload: bytes, ids: list[EntryID], *, is_even: bool) -> tuple[Form, bytes]:
        """The form and the packed entries, which have these IDs.

        `is_even`: all of them have the same length.
        """
        if is_even and len(payload) <= len(ids) * MAX_ALIKE_BYTES and may_progress(ids):
            if self._layout_pause:
                self._layout_pause -= 1
            elif found := lay_out(payload, ids, self._layout):
                self._layout = found[0]
                return found
            else:
                self._layout_pause = PAUSE
        return self._compress(payload)

    def _compress(self, payload: bytes) -> tuple[Form, bytes]:
        if self._compression_pause:
            self._compression_pause -= 1
            return AS_IS, payload
        packed = _compressor.compress(payload)
        if len(packed) < len(payload) * WORTHWHILE:
            # A copy: what the compressor gives out still has as much memory as the worst case.
            return COMPRESSED, bytes(memoryview(packed))
        self._compression_pause = PAUSE
        return AS_IS, payload
