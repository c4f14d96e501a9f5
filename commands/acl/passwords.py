"""Passwords: kept as SHA-256 in hexadecimal, and compared in constant time.

Anybody who reads a list of users learns no password, and no time that an attempt takes says how
much of it was right, nor which of several passwords it was.
"""

from __future__ import annotations

from collections.abc import Iterable

HASH_DIGITS = 64
_DIGITS = frozenset(b"0123456789abcdef")


def hash_of(password: bytes) -> bytes:
    """SHA-256, as 64 hexadecimal digits."""
    import hashlib  # it loads OpenSSL: not at the start

    return hashlib.sha256(password).hexdigest().encode()


def is_hash(word: bytes) -> bool:
    """Return True if `word` is what `hash_of` returns for something."""
    return len(word) == HASH_DIGITS and _DIGITS.issuperset(word)


def is_one_of(password: bytes, hashes: Iterable[bytes]) -> bool:
    """Return True if the password has one of the hashes; all are compared."""
    import hmac

    given, found = hash_of(password), False
    for each in hashes:
        found |= hmac.compare_digest(given, each)
    return found
