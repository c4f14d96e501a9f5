"""Every link in the documentation leads to a file, and to a heading where it names one."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
PAGES += [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "benchmarks" / "RESULTS.md"]
FENCED = re.compile(r"^(```+).*?^\1", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
# Where pages are named outside of pages.
NAMED = re.compile(r"\bdocs/[a-z/-]+\.md")
SOURCES = ("*.py", "*.toml", "*.yaml", "*.sh", "Makefile", "Dockerfile")


def slug(heading: str) -> str:
    """The anchor that GitHub, and MyST with it, give a heading."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


@cache
def anchors(page: Path) -> frozenset[str]:
    found: list[str] = []
    for heading in HEADING.findall(FENCED.sub("", page.read_text())):
        anchor = slug(heading)
        again = found.count(anchor)
        found += [anchor, f"{anchor}-{again}"]
    return frozenset(found)


def broken_links(page: Path) -> list[str]:
    broken = []
    for link in LINK.findall(FENCED.sub("", page.read_text())):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert broken_links(page) == []


def test_a_missing_file_and_a_missing_heading_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# What `XADD` does\n[a](#what-xadd-does) [b](#nothing) [c](none.md)\n")
    assert broken_links(page) == ["#nothing", "none.md"]


def test_pages_that_the_code_names_exist() -> None:
    tops = ("rillway", "server", "commands", "storage", "protocol", "docker", "benchmarks", "tests")
    files = [ROOT / name for name in ("pyproject.toml", "setup.py", "Makefile")]
    files += [file for top in tops for kind in SOURCES for file in (ROOT / top).rglob(kind)]
    named = {name for file in files for name in NAMED.findall(file.read_text())}
    assert len(named) > 5
    assert {name for name in named if not (ROOT / name).is_file()} == set()
