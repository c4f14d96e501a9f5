"""Names and partitions: the same in every language and every version."""

from __future__ import annotations

import pytest
from redis.crc import key_slot

from rillway.client.partitions import MOST_PARTITIONS, Partitions

# Also in docs/how-to/languages.md, and printed by its programs.
VECTORS = [
    ("", 0),
    ("123456789", 3),  # CRC16-XMODEM is 0x31C3: the check value of the algorithm
    ("anna", 14),
    ("bob", 11),
    ("{anna}", 0),
    ("größe", 1),
    ("customer-17", 3),
]


@pytest.mark.parametrize(("key", "partition"), VECTORS)
def test_the_partition_of_a_key_never_changes(key: str, partition: int) -> None:
    stream = Partitions("orders", partitions=16)
    assert stream.partition(key) == stream.partition(key.encode()) == partition


def test_all_bits_of_the_checksum_count() -> None:
    assert Partitions("s", MOST_PARTITIONS).partition("123456789") == 0x31C3
    numbers = {Partitions("s", 3).partition(str(number)) for number in range(100)}
    assert numbers == {0, 1, 2}


def test_all_that_belongs_to_a_partition_is_in_one_slot() -> None:
    stream = Partitions("orders", partitions=16)
    names = [stream.stream(3), stream.dead_letters(3), stream.owner(3, "billing")]
    assert names == ["orders:{3}", "orders:dead:{3}", "orders:owner:billing:{3}"]
    assert {key_slot(name.encode()) for name in names} == {key_slot(b"3")}
    assert stream.streams[15] == "orders:{15}"


@pytest.mark.parametrize(
    ("name", "partitions"), [("", 1), ("{orders}", 1), ("a}", 1), ("a", 0), ("a", 16_385)]
)
def test_a_wrong_name_or_number_is_an_error(name: str, partitions: int) -> None:
    with pytest.raises(ValueError, match="partition"):
        Partitions(name, partitions)
