"""The pages for contributors show code and paths as they are in the tree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# What a new command touches.
PLACES = [
    "commands/streams/delete.py",
    "commands/documentation.json",
    "docs/reference/streams/xdel.md",
    "tests/commands/streams/test_delete.py",
    "tests/compat/commands/catalogue.py",
    "CHANGELOG.md",
]
INDEX = ROOT / "docs/reference/streams/index.md"
PAGES = ["CONTRIBUTING.md", "docs/architecture/adding-a-command.md"]
# A path alone on its line, then the code that is shown of that file.
SHOWN = re.compile(
    r"^`([^`\n]+)`:\n\n(?:<!-- [^\n]*\n)?```\w+\n(.*?)^```", re.DOTALL | re.MULTILINE
)
PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)+/?|[A-Z]+\.md)`")


def missing_code(text: str) -> list[str]:
    """The paths of shown files that do not contain the code that is shown."""
    return [path for path, code in SHOWN.findall(text) if code not in (ROOT / path).read_text()]


def missing_paths(text: str) -> list[str]:
    return [path for path in PATH.findall(text) if not (ROOT / path).exists()]


@pytest.mark.parametrize("page", [*PAGES, "docs/architecture/commands.md"])
def test_shown_code_is_in_the_file_that_is_named(page: str) -> None:
    assert missing_code((ROOT / page).read_text()) == []


@pytest.mark.parametrize("page", PAGES)
def test_every_path_exists(page: str) -> None:
    text = (ROOT / page).read_text()
    assert PATH.findall(text)
    assert missing_paths(text) == []


def test_a_command_touches_the_places_that_are_listed_and_no_other_code_names_it() -> None:
    page = (ROOT / PAGES[1]).read_text()
    listed = re.findall(r"^\d\. `([^`]+)`: ", page, re.MULTILINE)
    assert listed == PLACES
    assert all("XDEL" in (ROOT / path).read_text() for path in listed)
    sources = [*ROOT.glob("commands/**/*.py"), *ROOT.glob("commands/*.json")]
    sources += [*ROOT.glob("server/**/*.py"), ROOT / "docs/generate.py"]
    named = re.compile(r'@command\("XDEL"|"XDEL":')
    naming = {str(path.relative_to(ROOT)) for path in sources if named.search(path.read_text())}
    assert naming == set(PLACES[:2])
    assert "xdel" not in re.findall(r"^\w+$", INDEX.read_text(), re.MULTILINE)


def test_other_code_and_a_missing_path_are_found() -> None:
    page = "`setup.py`:\n\n```python\nno such line\n```\n`storage/none.py`, `storage/stream.py`\n"
    assert missing_code(page) == ["setup.py"]
    assert missing_paths(page) == ["storage/none.py"]
