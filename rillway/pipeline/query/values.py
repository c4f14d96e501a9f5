"""Typed values as text for people and programs.

Numbers are numbers in JSON, also decimals with all their digits; NaN and infinity are strings, as
JSON has none. Times are UTC: `2026-01-31T12:00:00.5Z`. Bytes as everywhere: text, or base64.
"""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from math import isfinite
from typing import Any

import pyarrow as pa

from rillway.json_bytes import to_json


def json_texts(values: pa.Array) -> list[str]:
    """Each value in JSON; `null` for null."""
    return [_text(value) for value in plain_values(values)]


def cell_texts(values: pa.Array) -> list[str]:
    """The same for people: a string without quotation marks, nothing for null."""
    return [
        "" if value is None else value if isinstance(value, str) else _text(value)
        for value in plain_values(values)
    ]


def plain_values(values: pa.Array) -> list[Any]:
    """What JSON has: text, numbers (of them decimals), true and false, lists and objects."""
    if pa.types.is_date(values.type):
        # Python has no year 0.
        found: list[Any] = values.cast(pa.string()).to_pylist()
        return found
    return [_plain(value, values.type) for value in values.to_pylist()]


def _plain(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_map(kind):
        return {str(name): _plain(item, kind.item_type) for name, item in value}
    if pa.types.is_struct(kind):
        return {name: _plain(item, kind.field(name).type) for name, item in value.items()}
    if pa.types.is_list(kind):
        return [_plain(item, kind.value_type) for item in value]
    if isinstance(value, bytes):
        return to_json(value)
    if isinstance(value, datetime):
        text = value.astimezone(UTC).replace(tzinfo=None).isoformat()
        return (text.rstrip("0") if "." in text else text) + "Z"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value


def _text(value: Any) -> str:
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, dict):
        items = (f"{json.dumps(k, ensure_ascii=False)}: {_text(v)}" for k, v in value.items())
        return f"{{{', '.join(items)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return json.dumps(value, ensure_ascii=False)
