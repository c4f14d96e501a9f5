"""The first bytes of an RDB file: whose it is, and the version."""

from __future__ import annotations

import pytest

from storage.redis_format.primitives import Cursor
from storage.snapshot.format import (
    ForeignSnapshot,
    begins_snapshot,
    encode_header,
    is_known,
    read_header,
)


@pytest.mark.parametrize("version", [*range(1, 16), 80])
def test_the_versions_of_redis_and_valkey_are_read(version: int) -> None:
    header = encode_header(version)
    assert header == (b"VALKEY080" if version == 80 else b"REDIS%04d" % version)
    assert read_header(Cursor(b"x" + header, 1)) == version
    assert begins_snapshot(header) and is_known(version)


@pytest.mark.parametrize("version", [16, 79, 81, 999])
def test_other_versions_are_not_known(version: int) -> None:
    assert not is_known(version)


@pytest.mark.parametrize(
    "begin", [b"*3\r\n$3\r\nSE", b"#TS:17000\r\n", b"file a.1.", b"hello", b""]
)
def test_requests_and_manifests_do_not_begin_as_snapshots_do(begin: bytes) -> None:
    assert not begins_snapshot(begin)


@pytest.mark.parametrize(
    ("begin", "why"),
    [
        (b"REDIS0016", "a newer Redis: version 16 of its format is above 15"),
        (b"REDIS0080", "a newer Redis: version 80 of its format is above 15"),
        (b"VALKEY999", "a newer Valkey: version 999 of its format is above 80"),
        (b"DRAGON001", "another program, which begins 'DRAGON001'"),
    ],
)
def test_a_file_of_another_maker_is_named_as_such(begin: bytes, why: str) -> None:
    with pytest.raises(ForeignSnapshot, match=why):
        read_header(Cursor(begin + b"\xff" + bytes(8)))
    assert begins_snapshot(begin + b"\xff")
