"""Text in cells: safe, cut, padded; numbers."""

from __future__ import annotations

import pytest

from rillway.top.text import (
    Line,
    Span,
    cut,
    latency,
    pad,
    safe,
    sparkline,
    width,
)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"orders", "orders"),
        (b"a\x1b[31mb", "a\\x1b[31mb"),
        (b"a\r\nb\x00\x7f", "a\\r\\nb\\x00\\x7f"),
        (b"\xff\xfe", "\\xff\\xfe"),
        ("größe 東".encode(), "größe 東"),
        ("\u202egnp.exe\u200b\u2028".encode(), "\\u202egnp.exe\\u200b\\u2028"),
        ("\x9b31m", "\\x9b31m"),
    ],
)
def test_names_are_safe_to_print(name: bytes | str, shown: str) -> None:
    assert safe(name) == shown


def test_text_is_cut_and_padded_by_cells() -> None:
    assert width("東京ab") == 6 and width("e\u0301") == 1
    assert width("क\u0941") == width("x\ufe0f") == 1  # marks without a class of combining
    assert cut("orders", 6) == "orders" and cut("orders", 4) == "ord~"
    assert cut("東京東京", 4) == "東~" and cut("ab", 0) == ""
    assert pad("東", 4) == "東  " and pad("ab", 4, right=True) == "  ab"


def test_latencies() -> None:
    latencies = [None, 2, 999, 14_000, 1_200_000]
    assert [latency(one) for one in latencies] == ["-", "2 us", "999 us", "14 ms", "1.2 s"]


def test_a_sparkline_has_a_bar_for_each_value() -> None:
    assert sparkline([0, 1, 4, 8, None], ascii_only=False) == "▁▂▅█ "
    assert sparkline([0, 8], ascii_only=True) == "_#"
    assert sparkline([0, 0], ascii_only=False) == "▁▁" and sparkline([], ascii_only=False) == ""


def test_a_line_fits_exactly() -> None:
    line = Line((Span("orders ", "title"), Span("is long")))
    assert line.fit(10).text == "orders is~" and line.fit(20).text == "orders is long      "
    assert Line.of("x", "selected").fit(3).spans[-1] == Span("  ", "selected")
    assert line.then(Line.of("!")).text == "orders is long!"
