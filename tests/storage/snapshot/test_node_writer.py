"""Nodes in a buffer, each with its key."""

from __future__ import annotations

import pytest

from storage.nodes.node import freeze
from storage.redis_format.primitives import encode_string
from storage.snapshot.node_encoder import encode_node
from storage.snapshot.node_writer import NodeWriter
from tests.storage.snapshot.test_stream_node import node_of

# The keys and the sizes of values make lengths of one byte, two and five.
KEYS = [1, 1 << 64, (1 << 128) - 1]
SIZES = [1, 200, 20_000]


def node_as_string(key: int, listpack: bytes, *, compress: bool) -> bytes:
    """A node as a snapshot has it, written with the primitives."""
    key_string = encode_string(key.to_bytes(16, "big"), compress=False)
    return key_string + encode_string(listpack, compress=compress)


@pytest.mark.parametrize("compress", [True, False])
@pytest.mark.parametrize("text", [b"abcdefgh", b"".join(b"%d," % n**3 for n in range(2000))])
def test_nodes_are_a_key_and_a_string_each(compress: bool, text: bytes) -> None:
    writer = NodeWriter(compress=compress)
    written = b""
    for key in KEYS:
        for size in SIZES:
            node = node_of([key], [[b"f", (text * size)[:size]]])
            writer.put(freeze(node))
            written += node_as_string(key, encode_node(node), compress=compress)
    assert writer.size == len(written)
    assert writer.take() == written
    assert (writer.size, writer.take()) == (0, b"")


def test_a_string_is_written_as_it_is() -> None:
    writer = NodeWriter(compress=True)
    node = node_of([5], [[b"f", b"v"]])
    for size in (3, 2_000_000):
        writer.put_string(5, b"x" * size)
        writer.put(node)
        key = b"\x10" + (5).to_bytes(16, "big")
        expected = key + b"x" * size + node_as_string(5, encode_node(node), compress=True)
        assert writer.take() == expected


def test_reading_a_node_for_a_snapshot_leaves_the_cache_as_it_is() -> None:
    node = freeze(node_of(list(range(1, 40)), [[b"f", b"%d" % n] for n in range(39)]))
    writer = NodeWriter(compress=True)
    writer.put(node)
    assert node.opened is None  # type: ignore[union-attr]
