"""Elements of listpacks as Redis writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.redis_format.listpack import decode_listpack, encode_listpack
from storage.redis_format.listpack_size import EMPTY_LISTPACK_BYTES, element_bytes
from storage.redis_format.listpack_writer import ELEMENT_FRAME_BYTES, ListpackWriter

# A value, and the element that redis-server 7.0.15 makes of it, cut out of a DUMP.
OF_REDIS = [
    (b"0", "0001"),
    (b"127", "7f01"),
    (b"128", "c08002"),
    (b"-1", "dfff02"),
    (b"4095", "cfff02"),
    (b"4096", "f1001003"),
    (b"-4096", "d00002"),
    (b"-4097", "f1ffef03"),
    (b"32768", "f200800004"),
    (b"8388608", "f30000800005"),
    (b"2147483648", "f4000000800000000009"),
    (b"-9223372036854775808", "f4000000000000008009"),
    (b"9223372036854775808", "933932323333373230333638353437373538303814"),
    (b"", "8001"),
    (b"007", "8330303704"),
    (b"-0", "822d3003"),
    (b"x" * 64, "e040" + "78" * 64 + "42"),
    (b"x" * 125, "e07d" + "78" * 125 + "7f"),
    (b"x" * 126, "e07e" + "78" * 126 + "0180"),
    (b"x" * 4096, "f000100000" + "78" * 4096 + "2085"),
]

WORDS = st.one_of(
    st.integers(-5000, 5000).map(lambda number: b"%d" % number),
    st.integers(-(2**65), 2**65).map(lambda number: b"%d" % number),
    st.binary(max_size=70),
    st.builds(
        lambda byte, count: byte * count, st.sampled_from([b"7", b"x"]), st.integers(0, 20_000)
    ),
)


@pytest.mark.parametrize(("value", "encoded"), OF_REDIS)
def test_an_element_is_what_redis_makes_of_it(value: bytes, encoded: str) -> None:
    assert encode_listpack([value])[6:-1].hex() == encoded


@given(WORDS)
def test_an_element_takes_what_the_size_of_a_node_counts_for_it(value: bytes) -> None:
    assert len(encode_listpack([value])) == EMPTY_LISTPACK_BYTES + element_bytes(value)
    assert element_bytes(value) <= len(value) + ELEMENT_FRAME_BYTES


@pytest.mark.parametrize("size", [16_377, 16_378, 16_379, 2_097_145, 2_097_146, 2_097_147])
def test_long_elements_have_the_backward_length_that_they_need(size: int) -> None:
    blob = encode_listpack([bytes(size), 1])
    assert len(blob) == EMPTY_LISTPACK_BYTES + element_bytes(bytes(size)) + 2
    assert decode_listpack(blob) == [bytes(size), 1]


def test_a_writer_begins_again_after_each_listpack() -> None:
    writer = ListpackWriter()
    for size in (2_000_000, 3):
        writer.begin(size + 2 * ELEMENT_FRAME_BYTES)
        writer.put_word(b"-" + b"x" * size + b"-", 1, size)
        writer.put_integer(-7)
        writer.finish()
        assert decode_listpack(writer.content()) == [b"x" * size, -7]
