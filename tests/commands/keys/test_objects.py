"""commands/keys/objects.py: what a key takes in memory.

OBJECT.
"""

from __future__ import annotations

from commands.keys.objects import value_bytes
from storage.stream import Stream
from storage.types.value import StringValue


def test_key_and_value_both_count() -> None:
    value = StringValue(b"v")
    size = value_bytes(b"k", value)
    assert value_bytes(b"k" * 161, value) == size + 160
    assert value_bytes(b"k", StringValue(b"v" * 161)) == size + 160


def test_entries_of_a_stream_count() -> None:
    stream = Stream()
    empty = value_bytes(b"s", stream)
    for i in range(30_000):
        stream.append(i + 1 << 64, [b"field", b"%010d" % i], 100, 4096)
    assert empty + 30_000 < value_bytes(b"s", stream) < empty + 30_000 * 50
