"""Replies, keyspace events and propagation of commands, as the scripts in `replies/` have them."""

from __future__ import annotations

import pytest

from tests.golden.replies import FOLDER, Section, play, sections

pytestmark = pytest.mark.golden

CASES = [
    pytest.param(section, id=f"{path.stem}: {section.title}")
    for path in sorted(FOLDER.glob("*.txt"))
    for section in sections(path.read_text())
]


@pytest.mark.parametrize("section", CASES)
def test_requests_are_answered_as_written(section: Section) -> None:
    play(section)
