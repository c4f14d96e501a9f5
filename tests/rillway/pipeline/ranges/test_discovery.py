"""Streams by name and by pattern."""

from __future__ import annotations

import logging

import pytest

from rillway.pipeline.ranges.discovery import find_streams
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.scene import add_many

pytestmark = pytest.mark.integration


def test_named_streams_need_not_be_there(link: Connection) -> None:
    assert find_streams(link, ("b", "a"), None) == ["b", "a"]


def test_a_pattern_finds_streams_and_nothing_else(link: Connection) -> None:
    for number in range(50):
        add_many(link, f"orders:{number:02}", 1)
    add_many(link, "other", 1)
    link.call("SET", "orders:text", "v")
    assert find_streams(link, (), "orders:*") == [f"orders:{number:02}" for number in range(50)]
    assert find_streams(link, (), "none*") == []


def test_a_name_that_is_no_utf8_is_left_out_with_a_warning(
    link: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    link.call("XADD", b"o\xff", "1-0", "f", "v")
    with caplog.at_level(logging.WARNING):
        assert find_streams(link, (), "o*") == []
    assert r"b'o\xff'" in caplog.text
