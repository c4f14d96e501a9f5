"""Libraries of functions as bytes."""

from __future__ import annotations

import pytest

from storage.snapshot.function_payload import NotAFunction, dump_libraries, restore_libraries
from storage.snapshot.payload import BadChecksum


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("codes", [[], [b"one"], [b"one", b"x" * 5000, b"12345"]])
def test_what_is_dumped_is_restored(codes: list[bytes], compress: bool) -> None:
    assert restore_libraries(dump_libraries(codes, compress=compress)) == codes


def test_a_dump_of_nothing_is_that_of_redis() -> None:
    assert dump_libraries([], compress=True) == b"\n\x00]\x9b\\@\x0f\x7f\xa2\xda"


@pytest.mark.parametrize("position", range(0, 16, 3))
def test_a_damaged_payload_is_noticed(position: int) -> None:
    payload = bytearray(dump_libraries([b"library"], compress=False))
    payload[position] ^= 0x40
    with pytest.raises((BadChecksum, NotAFunction)):
        restore_libraries(bytes(payload))
