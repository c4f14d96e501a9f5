"""Lists in snapshots and payloads.

    1   a number of elements, and each as a string (Redis before 3.2)
    10  a ziplist (before 3.2)
    14  a number of nodes, each a ziplist (3.2)
    18  a number of nodes, each with its container: 1, the one element as it is; 2, a listpack (7.0)

Nodes stay as they are, so that DUMP gives back what RESTORE was given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from storage.redis_format.listpack import Element, decode_listpack
from storage.redis_format.primitives import Allowance, Cursor, encode_length, encode_string
from storage.redis_format.ziplist import decode_ziplist
from storage.snapshot.format import Codec, Decoder, EmptyCollection, Reading, SnapshotOptions
from storage.types.list_nodes import ListNode
from storage.types.lists import ListValue

LIST = 1
ZIPLIST = 10
ZIPLIST_NODES = 14
NODES = 18

_PLAIN = 1
_PACKED = 2

_NODES_VERSION = 10  # of the format, in Redis 7.0

# Gives the elements of a packed string.
Unpack = Callable[[bytes, int, "Allowance | None"], list[Element]]


def _type_code(value: ListValue, options: SnapshotOptions) -> int:
    return NODES if options.allows(_NODES_VERSION) else LIST


def _pieces(value: ListValue, options: SnapshotOptions, now_ms: int) -> Iterator[bytes]:
    compress = options.compress
    if _type_code(value, options) == LIST:
        yield encode_length(len(value))
        for items in value.slices(0, len(value)):
            yield b"".join([encode_string(item, compress=compress) for item in items])
        return
    nodes = value.nodes
    yield encode_length(len(nodes))
    for node in nodes:
        plain = node.plain
        container, data = (_PACKED, node.listpack()) if plain is None else (_PLAIN, plain)
        yield encode_length(container) + encode_string(data, compress=compress)


def _decode_elements(cursor: Cursor, reading: Reading) -> ListValue:
    items = [cursor.string() for _ in range(cursor.count(smallest=1))]
    if not items:
        raise EmptyCollection
    return ListValue.of(items, reading.limits, reading.access_ms)


def _decode_ziplist(cursor: Cursor, reading: Reading) -> ListValue:
    return _of_nodes([_packed_node(cursor, decode_ziplist)], reading)


def _decode_ziplist_nodes(cursor: Cursor, reading: Reading) -> ListValue:
    count = cursor.count(smallest=1)
    return _of_nodes([_packed_node(cursor, decode_ziplist) for _ in range(count)], reading)


def _decode_nodes(cursor: Cursor, reading: Reading) -> ListValue:
    nodes = [_decode_node(cursor) for _ in range(cursor.count(smallest=2))]
    return _of_nodes(nodes, reading)


def _decode_node(cursor: Cursor) -> ListNode:
    container = cursor.length()
    if container == _PLAIN:
        return ListNode.of_plain(cursor.string())
    if container == _PACKED:
        return _packed_node(cursor, decode_listpack)
    raise cursor.corrupt(f"a list's node has no container {container}")


def _packed_node(cursor: Cursor, unpack: Unpack) -> ListNode:
    offset = cursor.position
    packed = cursor.string()
    if unpack is decode_listpack and (node := ListNode.of_listpack(packed)) is not None:
        return node  # whose elements take no more memory than what was read
    elements = unpack(packed, offset, cursor.allowance)
    return ListNode([one if isinstance(one, bytes) else b"%d" % one for one in elements])


def _of_nodes(nodes: list[ListNode], reading: Reading) -> ListValue:
    """Return a list of these nodes, without empty ones, as in Redis. Raises EmptyCollection."""
    value = ListValue.of_nodes(nodes, reading.limits, reading.access_ms)
    if not value.size:
        raise EmptyCollection
    return value


CODEC = Codec(_type_code, _pieces, min_version={NODES: _NODES_VERSION})
DECODERS: dict[int, Decoder] = {
    LIST: _decode_elements,
    ZIPLIST: _decode_ziplist,
    ZIPLIST_NODES: _decode_ziplist_nodes,
    NODES: _decode_nodes,
}
