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


def play_text(text: str) -> None:
    for section in sections(text):
        play(section)


def test_a_section_that_says_what_happens_passes() -> None:
    play_text(
        """
# A member moves
SADD set a b ; SET text x
SMOVE set other a => :1 | srem set, new other, sadd other | =
SMOVE set other x => :0 | - | -
SCARD set => :1 ; SCARD none => :0
b: BLPOP list 0 => waits
b receives nothing
RPUSH list x
b receives ["list" "x"]

# Each section starts on an empty server
EXISTS set => :0 ; SET k v PX 10
@clock +11
GET k => nil | expired k, keymiss k | DEL k
"""
    )


@pytest.mark.parametrize(
    "line",
    [
        "SET k v => :1",
        'SET k v => "OK"',
        "SET k v => waits",
        "SET k",
        "SET k v => +OK | set k | =",
        "SET k v => +OK | new k, set k | -",
        "SET k v => +OK | new k, set k | SET k w",
        "SET k v\nb receives +OK",
        "SET k v => +OK\n@clock +5\nGET k => nil",
    ],
)
def test_what_differs_fails(line: str) -> None:
    with pytest.raises(AssertionError):
        play_text(f"# A section\n{line}\n")
