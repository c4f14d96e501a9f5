"""The tables of options in docs/reference/spark.md have those that the formats take, no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rillway.pipeline.spark.group_formats import GROUPS_OPTIONS, PENDING_OPTIONS
from rillway.pipeline.spark.options import (
    CONNECTION_OPTIONS,
    DEFAULT_BATCH_SIZE,
    DEFAULT_ENTRIES_PER_PARTITION,
    DEFAULT_PAGE_SIZE,
    SINK_OPTIONS,
    SOURCE_OPTIONS,
)

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "spark.md").read_text()
SECTIONS = dict(re.findall(r"(?ms)^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE))
TABLE = re.compile(r"^\| Option \| Default \|.*?(?=\n\n)", re.DOTALL | re.MULTILINE)


def rows(section: str) -> dict[str, str]:
    """Option and default."""
    table = TABLE.search(SECTIONS[section])
    assert table is not None
    found = {}
    for line in table[0].splitlines()[2:]:
        names, default = line.split(" | ")[:2]
        for name in re.findall(r"`(\w+)`", names):
            found[name] = default.strip(" |")
    return found


@pytest.mark.parametrize(
    ("section", "options"), [("Source", SOURCE_OPTIONS), ("Sink", SINK_OPTIONS)]
)
def test_the_table_has_every_option(section: str, options: tuple[str, ...]) -> None:
    # `url and the like`: the first table names the parts of it.
    assert set(rows(section)) | set(CONNECTION_OPTIONS) == set(options)
    assert "url" in rows(section)


def test_numbers_are_the_defaults_in_the_code() -> None:
    source, sink = rows("Source"), rows("Sink")
    assert source["entriesPerPartition"] == str(DEFAULT_ENTRIES_PER_PARTITION)
    assert source["pageSize"] == str(DEFAULT_PAGE_SIZE)
    assert sink["batchSize"] == str(DEFAULT_BATCH_SIZE)


def test_the_section_on_pending_entries_names_their_options() -> None:
    section = SECTIONS["Pending entries and groups as tables"]
    shared = {*CONNECTION_OPTIONS[1:]}
    wanted = {*GROUPS_OPTIONS, *PENDING_OPTIONS} - shared
    assert {name for name in wanted if f"`{name}" not in section} == set()
