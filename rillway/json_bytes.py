"""Bytes in JSON: text if they are UTF-8, otherwise {"base64": ...}."""

from __future__ import annotations

import base64
import binascii
from typing import TypeAlias

JsonText: TypeAlias = str | dict[str, str]


def to_json(data: bytes) -> JsonText:
    """Return the text, or {"base64": ...}."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def from_json(value: object) -> bytes:
    """Return the bytes of `to_json`'s result. Raises ValueError."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict) and value.keys() == {"base64"} and isinstance(value["base64"], str):
        try:
            return base64.b64decode(value["base64"], validate=True)
        except binascii.Error as error:
            raise ValueError(f"no base64: {error}") from None
    raise ValueError('expected a string or {"base64": "..."}')
