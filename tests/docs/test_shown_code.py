"""The pages for contributors show code and paths as they are in the tree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
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


def test_the_command_is_shown_from_its_declaration_to_the_comparison() -> None:
    shown = [path for path, _ in SHOWN.findall((ROOT / PAGES[1]).read_text())]
    folders = {path.split("/")[0] for path in shown} | {path.split("/")[1] for path in shown}
    assert {"commands", "catalogue.py", "integration", "compat"} <= folders


def test_other_code_and_a_missing_path_are_found() -> None:
    page = "`setup.py`:\n\n```python\nno such line\n```\n`storage/none.py`, `storage/stream.py`\n"
    assert missing_code(page) == ["setup.py"]
    assert missing_paths(page) == ["storage/none.py"]
