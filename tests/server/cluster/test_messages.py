from __future__ import annotations

import os
import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.cluster import messages
from server.cluster.messages import BadFrame, BadMessage, Extensions, Gossip, Message
from server.cluster.nodes import ALL_SLOTS
from tests.support.examples import compat_seed

SENDER, OTHER = "a" * 40, "b" * 40
# Damaged messages that are tried here; `make cluster-model` tries a million.
DAMAGED = int(os.environ.get("BUS_MESSAGES", "100000"))

ids = st.text("0123456789abcdef", min_size=40, max_size=40)
words = st.text("abcdefghijklmnop0123456789.:-", max_size=45)
ports = st.integers(0, 65_535)
seconds = st.integers(0, 2**32 - 1)
epochs = st.integers(0, 2**64 - 1)
bitmaps = st.sampled_from([0, 1, ALL_SLOTS, 1 << 16_383]) | st.integers(0, ALL_SLOTS)
gossip = st.builds(Gossip, ids, words, ports, ports, ports, seconds, seconds, ports)
extensions = st.builds(
    Extensions, words, words, st.just("") | ids, st.lists(st.tuples(ids, epochs), max_size=3)
)
header = {
    "sender": ids,
    "flags": ports,
    "current_epoch": epochs,
    "config_epoch": epochs,
    "offset": epochs,
    "slots": bitmaps,
    "primary": st.just("") | ids,
    "ip": words,
    "port": ports,
    "second_port": ports,
    "bus_port": ports,
    "is_ok": st.booleans(),
    "marks": st.integers(0, 255),
}
all_messages = st.one_of(
    st.builds(
        Message,
        type=st.sampled_from([messages.PING, messages.PONG, messages.MEET]),
        gossip=st.lists(gossip, max_size=5),
        extensions=st.none() | extensions.filter(lambda each: each != Extensions()),
        **header,
    ),
    st.builds(Message, type=st.just(messages.FAIL), subject=ids, **header),
    st.builds(
        Message,
        type=st.just(messages.UPDATE),
        subject=ids,
        subject_epoch=epochs,
        subject_slots=bitmaps,
        **header,
    ),
    st.builds(
        Message,
        type=st.sampled_from([messages.PUBLISH, messages.PUBLISHSHARD]),
        channel=st.binary(max_size=20),
        payload=st.binary(max_size=20),
        **header,
    ),
    st.builds(
        Message,
        type=st.sampled_from([messages.AUTH_REQUEST, messages.AUTH_ACK, messages.MFSTART]),
        **header,
    ),
)


@given(all_messages)
def test_a_message_is_what_its_bytes_say(message: Message) -> None:
    frame = messages.pack(message)
    assert messages.frame_size(frame[: messages.START_BYTES]) == len(frame)
    assert messages.unpack(frame) == message


def test_the_sizes_are_those_of_redis() -> None:
    assert (messages.HEADER_BYTES, messages.GOSSIP_BYTES) == (2256, 104)
    sizes = {
        messages.FAIL: 2296,
        messages.UPDATE: 4352,
        messages.AUTH_REQUEST: 2256,
        messages.PUBLISH: 2274,
    }
    for kind, size in sizes.items():
        message = Message(kind, SENDER, subject=OTHER, channel=b"hello", payload=b"world")
        assert len(messages.pack(message)) == size
    shard = Message(messages.PING, SENDER, extensions=Extensions(shard_id=OTHER))
    assert len(messages.pack(shard)) == 2256 + 48


@pytest.mark.parametrize("start", [b"RCmb\0\0\0\0", b"RCmb\xff\xff\xff\xff", b"*1\r\n$4\r\n"])
def test_what_is_no_frame_ends_the_link(start: bytes) -> None:
    with pytest.raises(BadFrame):
        messages.frame_size(start)


def changed(frame: bytes, place: int, data: bytes) -> bytes:
    return frame[:place] + data + frame[place + len(data) :]


PING = messages.pack(
    Message(
        messages.PING,
        SENDER,
        gossip=[Gossip(OTHER, "10.0.0.1", 1, 2, 1)],
        extensions=Extensions(hostname="host", shard_id=OTHER, forgotten=[(OTHER, 9)]),
    )
)
SAMPLES = [
    PING,
    messages.pack(Message(messages.PUBLISH, SENDER, channel=b"c", payload=b"p" * 20)),
    messages.pack(Message(messages.FAIL, SENDER, subject=OTHER)),
    messages.pack(Message(messages.UPDATE, SENDER, subject=OTHER, subject_slots=5)),
    messages.pack(Message(messages.AUTH_REQUEST, SENDER)),
]


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        PING[:100],
        PING[:-1],
        PING + b"\0",
        changed(PING, 0, b"rcmb"),
        changed(PING, 8, b"\0\2"),
        changed(PING, 12, b"\0\x0b"),
        changed(PING, 14, b"\0\0"),
        changed(PING, 14, b"\xff\xff"),
        changed(PING, 40, b"A"),
        changed(PING, 2128, b"x"),
        changed(PING, 2214, b"\0\1"),
        changed(PING, 2360, struct.pack("!I", 0)),
        changed(PING, 2360, struct.pack("!I", 2**32 - 8)),
        changed(PING, 2368, b"\xff"),
    ],
)
def test_what_does_not_fit_together_is_no_message(frame: bytes) -> None:
    with pytest.raises(BadMessage):
        messages.unpack(frame)


def test_extensions_that_are_not_known_are_skipped() -> None:
    frame = changed(PING, 2364, b"\0\x63")
    found = messages.unpack(frame).extensions
    assert found == Extensions(shard_id=OTHER, forgotten=[(OTHER, 9)])


def test_gossip_with_a_malformed_id_is_left_to_the_reader() -> None:
    frame = changed(PING, 2256, b"\xff")
    assert messages.unpack(frame).gossip[0].id == "ÿ" + OTHER[1:]


def test_damaged_messages_are_read_or_refused() -> None:
    draw = random.Random(compat_seed())
    for _ in range(DAMAGED):
        frame = bytearray(draw.choice(SAMPLES))
        for _ in range(draw.randrange(1, 4)):
            # Most of a header is slots, whose bytes have no wrong values.
            place = draw.choice((draw.randrange(80), draw.randrange(2128, len(frame))))
            frame[min(place, len(frame) - 1)] = draw.choice((0, 1, 8, 255, draw.randrange(256)))
        if draw.random() < 0.3:
            del frame[draw.randrange(len(frame)) :]
            frame[4:8] = struct.pack("!I", len(frame))[: max(0, len(frame) - 4)]
        try:
            message = messages.unpack(bytes(frame))
        except BadMessage:
            continue
        assert messages.unpack(messages.pack(message)).slots == message.slots
