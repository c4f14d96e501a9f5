"""The form of one type of value in snapshots and payloads: what a module of this room defines.

    CODEC = Codec(type_code, pieces, min_version={16: 10, ...})
    DECODERS = {4: decode_pairs, 16: decode_listpack, ...}

`storage/snapshot/values/table.py` puts them together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any, TypeAlias

from protocol.records import frozen_record
from storage.redis_format.primitives import Cursor
from storage.snapshot.options import Reading, SnapshotOptions
from storage.types.value import Value


class EmptyCollection(Exception):
    """A collection without items was read to its end. A file's reader passes over it."""


@frozen_record
class Codec:
    """The functions that write values of one class."""

    # The type code that a value is written with.
    type_code: Callable[[Any, SnapshotOptions], int]
    # A value as it stands after its type and key, in pieces; the last argument is now_ms.
    pieces: Callable[[Any, SnapshotOptions, int], Iterator[bytes]]
    # By type code: the oldest version of the format that has it. Those that all have are left out.
    min_version: dict[int, int] = field(default_factory=dict)


# Reads a value that begins at the cursor, whose type code it was entered under. Raises
# CorruptSnapshot or EmptyCollection.
Decoder: TypeAlias = Callable[[Cursor, Reading], Value]
