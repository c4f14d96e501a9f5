"""A fault is put into one place of a copy, and a test that fails on it finds it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults.__main__ import Trees, tried
from tests.faults.catalogue import FAULTS, Fault, Misplaced, mirror_of, place_of, read
from tests.support.programs.servers import ROOT

FAULT = Fault("a sum is a difference", "storage", "a + b", "a - b")
MODULE = "def total(a: int, b: int) -> int:\n    return a + b\n"
TEST = "from storage.sums import total\ndef test_it(): assert total(2, {b}) == {sum}\n"
PROFILE = "from hypothesis import settings\nsettings.register_profile('quick')\n"
NAMES = ["pyproject.toml", "conftest.py", "storage/sums.py", "tests/storage/test_sums.py"]


def tree(root: Path, b: int) -> Trees:
    """A tree with one module and its test, which adds `b` to two."""
    contents = [
        '[tool.pytest.ini_options]\npythonpath = ["."]\naddopts = "-p no:rillway.testing.plugin"\n',
        PROFILE,
        MODULE,
        TEST.format(b=b, sum=2 + b),
    ]
    for name, content in zip(NAMES, contents, strict=True):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return Trees(root / "copies", root, NAMES, 1)


def test_a_fault_on_which_a_test_fails_is_found_and_taken_back(tmp_path: Path) -> None:
    trees = tree(tmp_path, 3)
    assert tried(FAULT, trees).startswith("found in ")
    assert tried(FAULT, trees).startswith("found in ")
    assert (tmp_path / "copies/0/storage/sums.py").read_text() == MODULE
    assert (tmp_path / "storage/sums.py").read_text() == MODULE


def test_a_fault_on_which_all_tests_pass_is_not_found(tmp_path: Path) -> None:
    assert tried(FAULT, tree(tmp_path, 0)).startswith("NOT FOUND in ")


def test_a_text_is_in_one_place_wherever_that_is_below_the_folder(tmp_path: Path) -> None:
    tree(tmp_path, 1)
    assert place_of(FAULT, tmp_path) == Path("storage/sums.py")
    (tmp_path / "storage/deep").mkdir()
    (tmp_path / "storage/sums.py").rename(tmp_path / "storage/deep/add.py")
    assert place_of(FAULT, tmp_path) == Path("storage/deep/add.py")


@pytest.mark.parametrize(
    ("text", "where"), [("a * b", "no file of storage"), ("a", "storage/sums.py, storage/sums.py")]
)
def test_a_text_that_is_missing_or_there_twice_is_an_error(
    tmp_path: Path, text: str, where: str
) -> None:
    tree(tmp_path, 1)
    with pytest.raises(Misplaced, match=where):
        place_of(replace(FAULT, text=text), tmp_path)


def test_tests_are_those_of_the_folder_or_those_that_are_named() -> None:
    fault = Fault("", "", "", "")
    assert mirror_of(fault, Path("storage/nodes/open_node.py"), ROOT) == ["tests/storage/nodes"]
    assert mirror_of(fault, Path("rillway/pipeline/lag/gone/x.py"), ROOT) == [
        "tests/rillway/pipeline/lag"
    ]
    top = mirror_of(fault, Path("storage/stream.py"), ROOT)
    assert "tests/storage/test_stream.py" in top and not any("nodes" in name for name in top)
    assert mirror_of(replace(fault, tests=("tests/x",)), Path("storage/stream.py"), ROOT) == [
        "tests/x"
    ]


def test_each_layer_has_faults_and_each_has_a_name_of_its_own() -> None:
    faults = read(FAULTS)
    assert len({fault.name for fault in faults}) == len(faults) >= 40
    layers = {fault.under.partition("/")[0] for fault in faults}
    assert layers == {"protocol", "storage", "commands", "server", "rillway"}


def test_each_family_of_commands_has_a_fault() -> None:
    families = {
        path.parent.name
        for path in (ROOT / "commands").rglob("*.py")
        if "@command(" in path.read_text() and path.parent.parent.name == "commands"
    } - {"core"}
    assert families <= {fault.under.rpartition("/")[2] for fault in read(FAULTS)}
