"""The pictures of `rillway top` are up to date, and refer to nothing outside of themselves."""

from __future__ import annotations

import re

import pytest

from docs.screenshots import IMAGES, pictures

PICTURES = pictures()
MOST_BYTES = 150_000


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_what_top_shows(name: str) -> None:
    stale = "run: make screenshots"
    assert (IMAGES / name).read_text(encoding="utf-8") == PICTURES[name], stale


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_small_and_fetches_nothing(name: str) -> None:
    text = PICTURES[name]
    assert len(text) < MOST_BYTES
    assert set(re.findall(r"https?://[^\"' )]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert "@font-face" not in text and "<script" not in text
