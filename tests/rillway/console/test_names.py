"""Keys, names and values on their way into URLs and pages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rillway.console.names import cut, from_path, to_path, to_text


@given(st.binary())
def test_any_bytes_survive_paths(data: bytes) -> None:
    assert from_path(to_path(data)) == data
    assert "/" not in to_path(data)


@pytest.mark.parametrize("name", [b".", b"..", b"+.", b"+..", b"...", b"", b"%2e%2e"])
def test_no_segment_is_one_that_browsers_resolve(name: bytes) -> None:
    assert to_path(name) not in (".", "..") and from_path(to_path(name)) == name


@given(st.binary())
def test_as_text_they_are_one_printable_line(data: bytes) -> None:
    assert to_text(data).isprintable()


def test_what_is_no_text_is_visible() -> None:
    assert to_text(b"a\x1b[31m\n\xff\xe2\x80\xae\xc3\xa9") == "a\\x1b[31m\\n\\xff\\u202eé"


def test_long_values_are_cut_between_characters() -> None:
    assert cut(b"abc", 3) == b"abc"
    assert cut("ééé".encode(), 3).decode() == "é"
    assert cut(b"\x80" * 9, 5) == b"\x80" * 1
