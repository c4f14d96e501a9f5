"""Tables for a terminal."""

from __future__ import annotations

from rillway.pipeline.cli.text_table import text_table


def test_numbers_stand_to_the_right_and_texts_to_the_left() -> None:
    table = text_table(("name", "n", "rate"), [("a", 1234, 0.25), ("longer", None, 1000.0)])
    assert table.splitlines() == [
        "name        n     rate",
        "------  -----  -------",
        "a       1,234      0.2",
        "longer      -  1,000.0",
    ]


def test_a_table_without_rows_is_its_headings() -> None:
    assert text_table(("name", "n"), []).splitlines() == ["name  n", "----  -"]
