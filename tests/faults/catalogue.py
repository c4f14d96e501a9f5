"""The faults of faults.toml: where each is put, and which tests must find it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

FAULTS = Path(__file__).with_name("faults.toml")


class Misplaced(Exception):
    """The text of a fault is in no file, or in several places."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A text in one file below a folder, and what replaces it. `tests`: what runs, if not the
    tests of the file's folder."""

    name: str
    under: str
    text: str
    to: str
    tests: tuple[str, ...] = ()


def read(file: Path) -> list[Fault]:
    entries = tomllib.loads(file.read_text())["fault"]
    return [Fault(**{**entry, "tests": tuple(entry.get("tests", ()))}) for entry in entries]


def place_of(fault: Fault, tree: Path) -> Path:
    """The file that has the text, in relation to the tree. Raises Misplaced."""
    counts = {
        path.relative_to(tree): path.read_text().count(fault.text)
        for path in sorted((tree / fault.under).rglob("*.py"))
    }
    places = [path for path, count in counts.items() for _ in range(count)]
    if len(places) != 1:
        shown = ", ".join(map(str, places)) or f"no file of {fault.under}"
        raise Misplaced(f"its text is in {shown}")
    return places[0]


def mirror_of(fault: Fault, place: Path, tree: Path) -> list[str]:
    """The folder that mirrors the file's; of the top of a layer without the folders in it."""
    if fault.tests:
        return list(fault.tests)
    folder = Path("tests") / place.parent
    while not (tree / folder).is_dir():
        folder = folder.parent
    if len(folder.parts) > 2:
        has_script = (tree / f"tests/golden/replies/{folder.name}.txt").is_file()
        return [str(folder), *(["tests/golden/test_replies.py"] if has_script else [])]
    return sorted(str(path.relative_to(tree)) for path in (tree / folder).glob("test_*.py"))
