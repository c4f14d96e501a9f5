"""commands/keys/size.py: what a key takes in memory."""

from __future__ import annotations

from commands.keys.size import value_bytes
from storage.stream import Stream
from storage.types.strings import StringValue


def test_key_and_value_both_count() -> None:
    value = StringValue(b"v")
    size = value_bytes(b"k", value, samples=5)
    assert value_bytes(b"k" * 101, value, samples=5) == size + 100
    assert value_bytes(b"k", StringValue(b"v" * 101), samples=5) == size + 100


def test_a_stream_of_even_nodes_is_the_same_sampled_and_in_full() -> None:
    stream = Stream()
    empty = value_bytes(b"s", stream, samples=5)
    for i in range(30_000):
        stream.append(i + 1 << 64, [b"field", b"%010d" % i], 100, 4096)
    full = value_bytes(b"s", stream, samples=0)
    assert full > empty + 30_000
    assert abs(value_bytes(b"s", stream, samples=5) - full) < full / 4
