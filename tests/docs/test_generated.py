"""Generated tables are up to date, and leave out nothing that a real redis-server has."""

from __future__ import annotations

import re

import pytest

from commands.core.host import REDIS_VERSION
from docs.generate import (
    ABSENT_COMMANDS,
    BLOCKS,
    CONFIGURATION,
    DOCS,
    callable_commands,
    code,
    configuration_text,
    pages,
    table,
    updated,
)
from tests.support.programs.servers import RunningServer
from tests.support.resp import parse

STALE = (
    "Generated tables of the documentation do not describe what there is any more. "
    "Run: python docs/generate.py"
)
# Of INFO: they tell how Redis's C program was built. The page names them.
FIELDS_OF_THE_C_PROGRAM = {"atomicvar_api", "gcc_version", "redis_build_id"}
COUNTED = ("cmdstat_", "errorstat_", "latency_percentiles_usec_", "db0")


def test_the_pages_are_what_the_generator_makes_of_them() -> None:
    for path, page in pages().items():
        assert updated(page) == page, f"{path.name}: {STALE}"


def test_the_configuration_file_is_what_the_generator_makes() -> None:
    assert CONFIGURATION.read_text() == configuration_text(), STALE


def test_every_generated_block_has_one_place() -> None:
    text = "".join(pages().values())
    assert sorted(re.findall(r"<!-- generated: ([a-z-]+) -->", text)) == sorted(BLOCKS)
    assert text.count("<!-- end -->") == len(BLOCKS)


def test_a_stale_block_is_renewed_and_the_rest_left_alone() -> None:
    page = "before\n<!-- generated: newer -->\nold\n<!-- end -->\nafter\n"
    renewed = updated(page)
    assert renewed.startswith("before\n<!-- generated: newer -->\n\n| what |")
    assert renewed.endswith("|\n\n<!-- end -->\nafter\n")
    assert "old" not in renewed and updated(renewed) == renewed


def test_an_unknown_block_is_an_error() -> None:
    with pytest.raises(KeyError, match="nonsense"):
        updated("<!-- generated: nonsense -->\n<!-- end -->")


def test_a_bar_does_not_end_a_cell() -> None:
    assert (
        table(("a", "b"), [(code("<X | Y>"), "")])
        == "| a | b |\n| --- | --- |\n| `<X \\| Y>` |  |\n"
    )


def test_the_page_names_the_version_that_the_server_reports() -> None:
    assert f"answers as Redis {REDIS_VERSION} does" in (DOCS / "compatibility.md").read_text()


def test_every_command_of_redis_is_there_or_named_as_missing(redis_server: RunningServer) -> None:
    with redis_server.connect() as client:
        listed = parse(client.send("COMMAND", "LIST"))
    theirs = {name.text.decode() for name in listed.items}
    ours = {command.fullname.decode() for command in callable_commands()}
    ours |= {name.partition("|")[0] for name in ours}
    missing = {name for names in ABSENT_COMMANDS.values() for name in names.split()}
    assert not missing & ours
    unnamed = theirs - ours - missing
    # A container that is missing takes its sub-commands along.
    assert {name for name in unnamed if name.partition("|")[0] not in missing} == set()


def test_every_info_field_of_redis_is_there(
    redis_server: RunningServer, rillway_server: RunningServer
) -> None:
    assert fields(redis_server) - fields(rillway_server) == FIELDS_OF_THE_C_PROGRAM
    page = (DOCS / "reference" / "info.md").read_text()
    assert all(code(name) in page for name in FIELDS_OF_THE_C_PROGRAM)


def fields(server: RunningServer) -> set[str]:
    """The names of all INFO fields but those that stand for a command, an error or a database."""
    with server.connect() as client:
        lines = parse(client.send("INFO", "everything")).text.decode().split("\r\n")
    names = {line.partition(":")[0] for line in lines if ":" in line}
    return {name for name in names if not name.startswith(COUNTED)}
