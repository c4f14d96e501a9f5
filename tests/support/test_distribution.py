"""The tests are shared out as their fixtures need it, and the folders that are named are there."""

from __future__ import annotations

from tests.support.distribution import LONG, PAGES, SPARK, place, unit_of
from tests.support.programs.servers import ROOT


def test_a_test_goes_with_its_file() -> None:
    assert (
        unit_of("tests/storage/entries/test_entry.py::test_one[a::b]")
        == "tests/storage/entries/test_entry.py"
    )


def test_all_that_needs_spark_goes_together() -> None:
    files = [path.relative_to(ROOT).as_posix() for path in (ROOT / SPARK).glob("test_*.py")]
    assert len(files) > 1
    assert {unit_of(f"{file}::test_one") for file in files} == {SPARK}
    assert unit_of("tests/rillway/pipeline/test_spark.py::test_one") != SPARK


def test_each_page_of_the_documentation_goes_by_itself() -> None:
    assert (ROOT / PAGES).is_file()
    assert unit_of(f"{PAGES}::test_one[a.md]") != unit_of(f"{PAGES}::test_one[b.md]")


def test_what_takes_long_is_begun_first() -> None:
    assert all((ROOT / folder).is_dir() for folder in LONG)
    places = [place(f"{folder}/test_one.py::test_one") for folder in (*LONG, "tests/storage")]
    assert places == sorted(set(places))
