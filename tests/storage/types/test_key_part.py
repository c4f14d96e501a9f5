"""Where the key of a record is, by its kind."""

from __future__ import annotations

import pytest

from storage.types.key_part import (
    MEMBERS,
    PAIRS,
    SCORED,
    has_key,
    hash_at,
    hash_of,
    key_length,
    key_start,
)
from storage.types.records import pair


@pytest.mark.parametrize(
    ("kind", "record", "key"),
    [
        (MEMBERS, b"member", b"member"),
        (MEMBERS, b"", b""),
        (SCORED, b"8 bytes.member", b"member"),
        (PAIRS, pair(b"field", b"value"), b"field"),
        (PAIRS, pair(b"", b"value"), b""),
        (PAIRS, pair(b"f" * 255, b"value"), b"f" * 255),
    ],
)
def test_the_key_is_where_the_kind_says(kind: int, record: bytes, key: bytes) -> None:
    text = b"<" + record
    start = key_start(kind, text, 1)
    length = key_length(kind, text, 1, len(record), start)
    assert text[start : start + length] == key
    assert has_key(kind, record, b"<" + key + b">", 1, len(key))
    assert not has_key(kind, record, b"<" + key + b">", 1, len(key) + 1)
    assert hash_of(text, start, length) == hash_at(text, start, length) == hash_of(key, 0, len(key))
