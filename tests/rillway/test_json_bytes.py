"""Bytes of any kind in JSON, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rillway.json_bytes import from_json, to_json


def test_what_is_no_text_is_base64() -> None:
    assert to_json("größe".encode()) == "größe"
    assert to_json(b"\xff\x00") == {"base64": "/wA="}


@given(st.binary())
def test_any_bytes_survive(data: bytes) -> None:
    assert from_json(to_json(data)) == data


@pytest.mark.parametrize(
    "value", [None, 1, [], {}, {"base64": 1}, {"base64": "!"}, {"base64": "", "x": ""}]
)
def test_other_json_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="base64"):
        from_json(value)
