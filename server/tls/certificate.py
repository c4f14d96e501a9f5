"""What INFO says of a certificate: its serial number, and when it ends.

The standard library decodes the certificates of peers only. Of an own one, these two fields are
read from the encoding (DER, RFC 5280, section 4.1) as far as they are: other fields are skipped.
"""

from __future__ import annotations

import ssl
from datetime import UTC, datetime

from commands.core.host import Certificate

_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
_UTC_TIME = 0x17  # two digits for the year; else four
_VERSION = 0xA0


def first_certificate(path: str, owner: str) -> Certificate | None:
    """The first certificate of a PEM file that OpenSSL has accepted; None if it is not readable."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            text = file.read()
        start = text.index(_BEGIN)
        der = ssl.PEM_cert_to_DER_cert(text[start : text.index(_END, start) + len(_END)])
        return decode(der, owner)
    except (OSError, ValueError, IndexError):
        return None


def decode(der: bytes, owner: str) -> Certificate:
    """The certificate. Raises ValueError or IndexError if it is none."""
    body = _content(_content(der, 0), 0)  # of the part that is signed
    place = _after(body, 0) if body[0] == _VERSION else 0
    serial = _content(body, place)
    for _ in range(3):  # the serial number, how it is signed, who signed it
        place = _after(body, place)
    validity = _content(body, place)
    end = _after(validity, 0)
    text = _content(validity, end).decode("ascii")
    form = "%y%m%d%H%M%SZ" if validity[end] == _UTC_TIME else "%Y%m%d%H%M%SZ"
    ends_s = int(datetime.strptime(text, form).replace(tzinfo=UTC).timestamp())
    return Certificate(owner, serial.lstrip(b"\0").hex().upper() or "0", ends_s)


def _content(data: bytes, place: int) -> bytes:
    """What the element at a place holds."""
    start, length = _bounds(data, place)
    return data[start : start + length]


def _after(data: bytes, place: int) -> int:
    """The place of the next element."""
    start, length = _bounds(data, place)
    return start + length


def _bounds(data: bytes, place: int) -> tuple[int, int]:
    """Where the content of an element begins, and its length: one byte, or a count and bytes."""
    first = data[place + 1]
    if first < 0x80:
        return place + 2, first
    start = place + 2 + (first & 0x7F)
    return start, int.from_bytes(data[place + 2 : start], "big")
