"""The records of hashes: a field and its value in one bytes object (key_part.py, kind PAIRS)."""

from __future__ import annotations

import cython

from protocol import replies

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.types.members.key_part import LONG, PAIRS, key_length, key_start


def pair(field: bytes, value: bytes) -> bytes:
    """The record of a field with its value."""
    if cython.compiled:
        return make_pair(field, value)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    size = len(field)
    header = bytes((size,)) if size < LONG else b"\xff" + size.to_bytes(8, "little")
    return b"%b%b%b" % (header, field, value)


def field_of(record: bytes) -> bytes:
    """The field of a record."""
    if cython.compiled:
        return get_field(record)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    start = key_start(PAIRS, record, 0)
    return record[start : start + key_length(PAIRS, record, 0, len(record), start)]


def value_of(record: bytes) -> bytes:
    """The value of a record's field."""
    if cython.compiled:
        return get_value(record)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    start = key_start(PAIRS, record, 0)
    return record[start + key_length(PAIRS, record, 0, len(record), start) :]


def pair_bulks(head: bytes, records: list[bytes]) -> bytes:
    """The fields and values of records as bulk strings, one after the other, after `head`."""
    if cython.compiled:
        return make_pair_bulks(head, records)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    words = [word for record in records for word in (field_of(record), value_of(record))]
    return head + replies.bulks(words)
