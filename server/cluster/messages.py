"""Messages of the cluster bus: bytes to `Message`, and back. All integers are big endian.

The I/O layer cuts the stream of a link into frames by `frame_size`, and gives each to `unpack`.
Bytes that are no frame close the link (`BadFrame`). A frame whose length does not match its
contents is dropped (`BadMessage`), as in Redis, and so is a message of another version of the bus.
"""

from __future__ import annotations

import struct
from dataclasses import field

from protocol.records import record
from server.cluster.nodes import ID_LENGTH, is_node_id

SIGNATURE = b"RCmb"
VERSION = 1
MAX_FRAME_BYTES = 256 * 1024 * 1024  # PUBLISH carries what a client may send

PING, PONG, MEET, FAIL, PUBLISH, AUTH_REQUEST, AUTH_ACK, UPDATE, MFSTART, MODULE, PUBLISHSHARD = (
    range(11)
)
TYPE_NAMES = (
    "ping",
    "pong",
    "meet",
    "fail",
    "publish",
    "auth-req",
    "auth-ack",
    "update",
    "mfstart",
    "module",
    "publishshard",
)

# Marks: the first byte of the message flags.
PAUSED = 1  # a primary whose writes are paused, for a manual failover
FORCE_ACK = 2  # a vote for a manual failover: the primary need not have failed
EXT_DATA = 4  # the sender understands extensions

HOSTNAME, HUMAN_NAME, FORGOTTEN_NODE, SHARD_ID = range(4)

_HEADER = struct.Struct("!4sIHHHHQQQ40s2048s40s46sH30sHHHB3s")
_GOSSIP = struct.Struct("!40sII46sHHHHH")
_EXTENSION = struct.Struct("!IHH")
_LENGTHS = struct.Struct("!II")
_UPDATE = struct.Struct("!Q40s2048s")
_MODULE = struct.Struct("!QIB")
_FORGOTTEN = struct.Struct("!40sQ")
_START = struct.Struct("!4sI")
START_BYTES = _START.size
HEADER_BYTES = _HEADER.size
GOSSIP_BYTES = _GOSSIP.size
_SLOTS_BYTES = 2048
_UNUSED = bytes(30)


class BadFrame(Exception):
    """The bytes are no frame of the bus: the link must be closed."""


class BadMessage(Exception):
    """A frame whose contents do not fit together: it is dropped."""


@record
class Gossip:
    """What the sender says about another node. The times are Unix times in seconds."""

    id: str
    ip: str
    port: int
    bus_port: int
    flags: int
    ping_sent_s: int = 0
    pong_received_s: int = 0
    second_port: int = 0


@record
class Extensions:
    """What follows the gossip, for nodes that understand it. `forgotten`: IDs and seconds left."""

    hostname: str = ""
    human_name: str = ""
    shard_id: str = ""
    forgotten: list[tuple[str, int]] = field(default_factory=list)


@record
class Message:
    """One message: the fields of the header, and those of the body of its type.

    `slots`, `config_epoch` and `offset` are those of the sender's primary if it is a replica, but
    for the offset, which is its own. `ip` is empty unless the sender announces an address.
    """

    type: int
    sender: str
    flags: int = 0
    current_epoch: int = 0
    config_epoch: int = 0
    offset: int = 0
    slots: int = 0
    primary: str = ""
    ip: str = ""
    port: int = 0
    second_port: int = 0
    bus_port: int = 0
    is_ok: bool = True
    marks: int = 0
    gossip: list[Gossip] = field(default_factory=list)
    extensions: Extensions | None = None
    # FAIL and UPDATE
    subject: str = ""
    subject_epoch: int = 0
    subject_slots: int = 0
    # PUBLISH and PUBLISHSHARD
    channel: bytes = b""
    payload: bytes = b""


def frame_size(start: bytes) -> int:
    """The bytes of a whole frame, from its first START_BYTES. Raises BadFrame."""
    signature, size = _START.unpack_from(start)
    if signature != SIGNATURE or not HEADER_BYTES <= size <= MAX_FRAME_BYTES:
        raise BadFrame(f"not a frame of the cluster bus: {start[:START_BYTES]!r}")
    return int(size)


# -- to bytes ----------------------------------------------------------------------------------


def pack(message: Message) -> bytes:
    """The message as a frame."""
    body = _packed_body(message)
    extensions = _packed_extensions(message.extensions) if message.extensions is not None else []
    size = HEADER_BYTES + len(body) + sum(map(len, extensions))
    header = _HEADER.pack(
        SIGNATURE,
        size,
        VERSION,
        message.port,
        message.type,
        len(message.gossip),
        message.current_epoch,
        message.config_epoch,
        message.offset,
        message.sender.encode(),
        message.slots.to_bytes(_SLOTS_BYTES, "little"),
        message.primary.encode(),
        message.ip.encode(),
        len(extensions),
        _UNUSED,
        message.second_port,
        message.bus_port,
        message.flags,
        0 if message.is_ok else 1,
        bytes((message.marks, 0, 0)),
    )
    return b"".join((header, body, *extensions))


def _packed_body(message: Message) -> bytes:
    kind = message.type
    if kind in (PING, PONG, MEET):
        return b"".join(map(_packed_gossip, message.gossip))
    if kind == FAIL:
        return message.subject.encode()
    if kind == UPDATE:
        slots = message.subject_slots.to_bytes(_SLOTS_BYTES, "little")
        return _UPDATE.pack(message.subject_epoch, message.subject.encode(), slots)
    if kind in (PUBLISH, PUBLISHSHARD):
        lengths = _LENGTHS.pack(len(message.channel), len(message.payload))
        return lengths + message.channel + message.payload
    return b""


def _packed_gossip(entry: Gossip) -> bytes:
    return _GOSSIP.pack(
        entry.id.encode(),
        entry.ping_sent_s,
        entry.pong_received_s,
        entry.ip.encode(),
        entry.port,
        entry.bus_port,
        entry.flags,
        entry.second_port,
        0,
    )


def _packed_extensions(extensions: Extensions) -> list[bytes]:
    packed = []
    if extensions.hostname:
        packed.append(_packed_extension(HOSTNAME, extensions.hostname.encode() + b"\0"))
    if extensions.human_name:
        packed.append(_packed_extension(HUMAN_NAME, extensions.human_name.encode() + b"\0"))
    for node_id, seconds in extensions.forgotten:
        packed.append(_packed_extension(FORGOTTEN_NODE, _FORGOTTEN.pack(node_id.encode(), seconds)))
    if extensions.shard_id:
        packed.append(_packed_extension(SHARD_ID, extensions.shard_id.encode()))
    return packed


def _packed_extension(kind: int, data: bytes) -> bytes:
    size = _EXTENSION.size + (len(data) + 7) // 8 * 8
    return (_EXTENSION.pack(size, kind, 0) + data).ljust(size, b"\0")


# -- from bytes --------------------------------------------------------------------------------


def unpack(frame: bytes) -> Message:
    """The message of a frame. Raises BadMessage."""
    if len(frame) < HEADER_BYTES:
        raise BadMessage("shorter than a header")
    (
        signature,
        size,
        version,
        port,
        kind,
        count,
        current_epoch,
        config_epoch,
        offset,
        sender,
        slots,
        primary,
        ip,
        extension_count,
        _,
        second_port,
        bus_port,
        flags,
        state,
        marks,
    ) = _HEADER.unpack_from(frame)
    if signature != SIGNATURE or size != len(frame):
        raise BadMessage("its length is not that of its frame")
    if version != VERSION or kind >= len(TYPE_NAMES):
        raise BadMessage(f"version {version}, type {kind}")
    message = Message(
        type=kind,
        sender=_node_id(sender),
        flags=flags,
        current_epoch=current_epoch,
        config_epoch=config_epoch,
        offset=offset,
        slots=int.from_bytes(slots, "little"),
        primary=_node_id(primary) if primary.strip(b"\0") else "",
        ip=_text(ip),
        port=port,
        second_port=second_port,
        bus_port=bus_port,
        is_ok=state == 0,
        marks=marks[0],
    )
    end = _unpack_body(message, frame, count)
    if extension_count and kind in (PING, PONG, MEET):
        message.extensions, end = _unpack_extensions(frame, end, extension_count)
    if end != len(frame):
        raise BadMessage(f"{len(frame)} bytes, of which {end} belong to it")
    return message


def _unpack_body(message: Message, frame: bytes, count: int) -> int:
    """Fill in the fields of the body; return where it ends."""
    kind, start = message.type, HEADER_BYTES
    if kind in (PING, PONG, MEET):
        end = _end(frame, start, count * GOSSIP_BYTES)
        message.gossip = [_gossip(entry) for entry in _GOSSIP.iter_unpack(frame[start:end])]
        return end
    if kind == FAIL:
        end = _end(frame, start, ID_LENGTH)
        message.subject = _node_id(frame[start:end])
        return end
    if kind == UPDATE:
        end = _end(frame, start, _UPDATE.size)
        message.subject_epoch, subject, slots = _UPDATE.unpack_from(frame, start)
        message.subject = _node_id(subject)
        message.subject_slots = int.from_bytes(slots, "little")
        return end
    if kind in (PUBLISH, PUBLISHSHARD):
        return _unpack_publication(message, frame)
    if kind == MODULE:
        start = _end(frame, start, _MODULE.size)
        return _end(frame, start, _MODULE.unpack_from(frame, HEADER_BYTES)[1])
    return start


def _unpack_publication(message: Message, frame: bytes) -> int:
    start = _end(frame, HEADER_BYTES, _LENGTHS.size)
    channel_bytes, payload_bytes = _LENGTHS.unpack_from(frame, HEADER_BYTES)
    middle = _end(frame, start, channel_bytes)
    end = _end(frame, middle, payload_bytes)
    message.channel, message.payload = frame[start:middle], frame[middle:end]
    return end


def _gossip(fields: tuple[bytes, int, int, bytes, int, int, int, int, int]) -> Gossip:
    """Unpack an entry. A malformed ID is kept; readers skip the entry."""
    node_id, ping_sent_s, pong_received_s, ip, port, bus_port, flags, second_port, _ = fields
    return Gossip(
        id=node_id.decode("latin-1"),
        ip=_text(ip),
        port=port,
        bus_port=bus_port,
        flags=flags,
        ping_sent_s=ping_sent_s,
        pong_received_s=pong_received_s,
        second_port=second_port,
    )


def _unpack_extensions(frame: bytes, start: int, count: int) -> tuple[Extensions, int]:
    """The extensions that are known, and where they end."""
    extensions = Extensions()
    for _ in range(count):
        body = _end(frame, start, _EXTENSION.size)
        size, kind, _unused = _EXTENSION.unpack_from(frame, start)
        if size < _EXTENSION.size or size % 8:
            raise BadMessage(f"an extension of {size} bytes")
        start = _end(frame, start, size)
        _take_extension(extensions, kind, frame[body:start])
    return extensions, start


def _take_extension(extensions: Extensions, kind: int, data: bytes) -> None:
    if kind == HOSTNAME:
        extensions.hostname = _text(data)
    elif kind == HUMAN_NAME:
        extensions.human_name = _text(data)
    elif kind == FORGOTTEN_NODE and len(data) == _FORGOTTEN.size:
        node_id, seconds = _FORGOTTEN.unpack(data)
        extensions.forgotten.append((_node_id(node_id), seconds))
    elif kind == SHARD_ID and len(data) == ID_LENGTH:
        extensions.shard_id = _node_id(data)


def _end(frame: bytes, start: int, size: int) -> int:
    """The end of a part. Raises BadMessage if that is beyond the frame."""
    end = start + size
    if end > len(frame):
        raise BadMessage("a part of it is missing")
    return end


# Of the lines of nodes.conf.
_SEPARATORS = frozenset(" ,@")


def _text(data: bytes) -> str:
    """Unpack text that ends at a NUL: an address or a name, which nodes.conf gets unchanged."""
    text = data.partition(b"\0")[0].decode("latin-1")
    if not text.isascii() or not text.isprintable() or _SEPARATORS & set(text):
        raise BadMessage(f"{text!r} is not a name or an address")
    return text


def _node_id(data: bytes) -> str:
    text = data.decode("latin-1")
    if not is_node_id(text):
        raise BadMessage(f"{data!r} is not the ID of a node")
    return text
