"""The framer keeps every byte, whatever the type and wherever the stream is cut."""

from __future__ import annotations

import pytest

from tests.support.resp import BrokenReply, ReplyReader, encode_command, parse

REPLIES = [
    b"+OK\r\n",
    b"-ERR no\r\n",
    b":-12\r\n",
    b"$5\r\na\r\nbc\r\n",
    b"$0\r\n\r\n",
    b"$-1\r\n",
    b"*-1\r\n",
    b"*0\r\n",
    b"*2\r\n*1\r\n:1\r\n$1\r\nx\r\n",
    b"_\r\n",
    b"#t\r\n",
    b",1.5\r\n",
    b"(123456789012345678901234567890\r\n",
    b"=8\r\ntxt:a\r\nb\r\n",
    b"!5\r\nERR x\r\n",
    b"%2\r\n$1\r\na\r\n*0\r\n$1\r\nb\r\n%0\r\n",
    b"~1\r\n+x\r\n",
    b">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n",
    b"|1\r\n+ttl\r\n:5\r\n*1\r\n|0\r\n$1\r\nv\r\n",
]


@pytest.mark.parametrize("step", [1, 2, 3, 7, 10_000])
def test_a_stream_cut_anywhere_gives_the_same_replies(step: int) -> None:
    stream = b"".join(REPLIES)
    reader = ReplyReader()
    found = []
    for start in range(0, len(stream), step):
        reader.feed(stream[start : start + step])
        while (reply := reader.next_reply()) is not None:
            found.append(reply)
    assert found == REPLIES


@pytest.mark.parametrize("raw", [reply for reply in REPLIES if b"|" not in reply])
def test_a_parsed_reply_joins_to_its_own_bytes(raw: bytes) -> None:
    assert parse(raw).raw() == raw


def test_a_parsed_reply_gives_its_elements() -> None:
    entry = parse(b"*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nf\r\n$4\r\na\r\nb\r\n")
    assert entry.items[0].text == b"1-1"
    assert [field.text for field in entry.items[1].items] == [b"f", b"a\r\nb"]


def test_bytes_after_a_reply_are_refused() -> None:
    with pytest.raises(BrokenReply):
        parse(b":1\r\n:2\r\n")


def test_bytes_that_are_no_resp_are_refused() -> None:
    reader = ReplyReader()
    reader.feed(b"hello\r\n")
    with pytest.raises(BrokenReply):
        reader.next_reply()


def test_a_command_is_encoded_from_text_numbers_and_bytes() -> None:
    assert encode_command(["SET", b"\xff", 12]) == b"*3\r\n$3\r\nSET\r\n$1\r\n\xff\r\n$2\r\n12\r\n"
