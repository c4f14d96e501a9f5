"""Each error text that the page on troubleshooting explains is one that the server has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "troubleshooting.md").read_text()
TEXTS = [
    text
    for heading in re.findall(r"^### (.*)$", PAGE, re.MULTILINE)
    for text in re.findall(r"`([^`]+)`", heading)
]
# Of others: the system's own, Redis's, and a command line.
NOT_OURS = {
    "Can't handle RDB format version 11", "Can't handle RDB format version 12",
    "redis-cli --hotkeys",
}  # fmt: skip


@pytest.fixture(scope="module")
def sources() -> str:
    folders = ("server", "commands", "storage", "protocol")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.py")]
    text = "".join(file.read_text() for file in files)
    return re.sub(r"[\"']\s*\n\s*[rbf]*[\"']", "", text)  # literals in several lines


@pytest.mark.parametrize("text", sorted(set(TEXTS) - NOT_OURS))
def test_the_server_has_the_text(sources: str, text: str) -> None:
    longest = max((part.strip(" '.") for part in text.split("...")), key=len)
    without_code = longest.removeprefix("ERR ")
    assert longest in sources or without_code in sources
