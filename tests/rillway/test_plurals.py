"""Numbers with what they count."""

from __future__ import annotations

import pytest

from rillway.plurals import count_of


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (1, "file", "1 file"),
        (0, "file", "0 files"),
        (2000, "entry", "2,000 entries"),
        (1, "entry", "1 entry"),
        (3, "batch", "3 batches"),
        (2, "dead letter", "2 dead letters"),
    ],
)
def test_only_one_is_singular(number: int, noun: str, text: str) -> None:
    assert count_of(number, noun) == text
