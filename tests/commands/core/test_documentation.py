"""commands/core/documentation.py: the rows of the families' tables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import commands.catalogue  # noqa: F401
from commands.core.documentation import help_reply, row_of, rows_of, shown_name
from commands.core.registry import COMMANDS, Command

ROOT = Path(__file__).parents[3]
FAMILIES = sorted(path.parent.name for path in ROOT.glob("commands/*/documentation.py"))
FAMILIES.remove("core")
DECLARED = [one for found in COMMANDS.values() for one in (found, *found.subcommands.values())]


def declared_names(family: str) -> set[str]:
    return {shown_name(command) for command in DECLARED if command.family == family}


def test_every_family_has_a_table() -> None:
    assert sorted({command.family for command in DECLARED}) == FAMILIES


@pytest.mark.parametrize("family", FAMILIES)
def test_every_command_has_its_row(family: str) -> None:
    assert declared_names(family) - rows_of(family).keys() == set()


@pytest.mark.parametrize("family", FAMILIES)
def test_every_row_has_its_command(family: str) -> None:
    assert rows_of(family).keys() - declared_names(family) == set()


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_are_in_the_order_of_the_alphabet(family: str) -> None:
    assert list(rows_of(family)) == sorted(rows_of(family))


def test_a_command_without_a_row_is_named() -> None:
    xlen = COMMANDS[b"xlen"]
    undocumented = Command(
        name=b"XNEW",
        fullname=b"xnew",
        handler=xlen.handler,
        arity=2,
        flags=0,
        keys=(),
        family=xlen.family,
    )
    with pytest.raises(KeyError, match="XNEW"):
        row_of(undocumented)


def test_a_row_has_the_group_and_the_version_of_its_family() -> None:
    row = row_of(COMMANDS[b"xlen"])
    assert (row.group, row.since) == ("stream", "5.0.0")


def test_a_row_may_have_others() -> None:
    assert row_of(COMMANDS[b"dbsize"]).group == "server"
    assert row_of(COMMANDS[b"xautoclaim"]).since == "6.2.0"


def test_a_sub_command_is_as_old_as_its_container_unless_its_row_says_otherwise() -> None:
    config = COMMANDS[b"config"]
    assert row_of(config).since == row_of(config.subcommands[b"get"]).since == "2.0.0"
    assert row_of(config.subcommands[b"help"]).since == "5.0.0"


def test_the_tables_are_not_imported_before_they_are_needed() -> None:
    code = (
        "import sys, server.main, commands.catalogue\n"
        "print(*[name for name in sys.modules if name.endswith('.documentation')])"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout
    # Compiled, the module has the name that it has in a wheel.
    assert [name.removeprefix("rillway.app.") for name in printed.split()] == [
        "commands.core.documentation"
    ]


def test_a_help_reply_begins_and_ends_like_those_of_redis() -> None:
    assert help_reply(b"XGROUP", b"DESTROY <key>", b"    Gone.") == (
        b"*5\r\n"
        b"+XGROUP <subcommand> [<arg> [value] [opt] ...]. Subcommands are:\r\n"
        b"+DESTROY <key>\r\n"
        b"+    Gone.\r\n"
        b"+HELP\r\n"
        b"+    Print this help.\r\n"
    )
