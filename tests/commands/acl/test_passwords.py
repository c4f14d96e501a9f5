"""Passwords are kept as hashes."""

from __future__ import annotations

from commands.acl.passwords import hash_of, is_hash, is_one_of

HASH = b"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


def test_a_hash_is_sha_256_in_lower_case() -> None:
    assert hash_of(b"test") == HASH
    assert is_hash(HASH)
    assert not is_hash(HASH.upper()) and not is_hash(HASH[1:]) and not is_hash(b"z" * 64)


def test_a_password_is_one_of_several_hashes() -> None:
    assert is_one_of(b"test", [hash_of(b"other"), HASH])
    assert not is_one_of(b"Test", [hash_of(b"other"), HASH])
    assert not is_one_of(b"", [])
