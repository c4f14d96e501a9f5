"""commands/documentation.py: the rows of documentation.json."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import commands.catalogue  # noqa: F401
from commands.core.registry import COMMANDS, Command
from commands.documentation import help_reply, row_of, rows, shown_name

ROOT = Path(__file__).parents[2]
GROUPS = json.loads((ROOT / "commands/documentation.json").read_text())
DECLARED = {
    shown_name(one) for found in COMMANDS.values() for one in (found, *found.subcommands.values())
}


def test_every_command_has_its_row() -> None:
    assert DECLARED - rows().keys() == set()


def test_every_row_has_its_command() -> None:
    assert rows().keys() - DECLARED == set()


@pytest.mark.parametrize("group", GROUPS)
def test_rows_are_in_the_order_of_the_alphabet(group: str) -> None:
    assert list(GROUPS[group]) == sorted(GROUPS[group])


@pytest.mark.parametrize("name", rows())
def test_a_row_has_texts_of_the_right_kinds(name: str) -> None:
    row = rows()[name]
    for text in (row.summary, row.since, row.syntax, row.complexity, *row.tips, *row.categories):
        assert isinstance(text, str)
    assert row.summary.endswith(".")
    assert row.since
    pairs = [*row.history, *([row.deprecated] if row.deprecated else [])]
    assert all(isinstance(one, str) and isinstance(other, str) for one, other in pairs)


def test_a_command_without_a_row_is_named() -> None:
    xlen = COMMANDS[b"xlen"]
    undocumented = Command(
        name=b"XNEW", fullname=b"xnew", handler=xlen.handler, arity=2, flags=0, keys=()
    )
    with pytest.raises(KeyError, match="XNEW"):
        row_of(undocumented)


def test_a_row_has_its_group_and_version() -> None:
    row = row_of(COMMANDS[b"xautoclaim"])
    assert (row.group, row.since) == ("stream", "6.2.0")


def test_a_sub_command_is_as_old_as_its_container_unless_its_row_says_otherwise() -> None:
    config = COMMANDS[b"config"]
    assert row_of(config).since == row_of(config.subcommands[b"get"]).since == "2.0.0"
    assert row_of(config.subcommands[b"help"]).since == "5.0.0"


def test_the_rows_are_not_read_before_they_are_needed() -> None:
    code = (
        "import server.main, commands.catalogue\n"
        "from commands.documentation import rows\n"
        "print(rows.cache_info().currsize)"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout
    assert printed == "0\n"


def test_a_help_reply_begins_and_ends_like_those_of_redis() -> None:
    assert help_reply(b"XGROUP", b"DESTROY <key>", b"    Gone.") == (
        b"*5\r\n"
        b"+XGROUP <subcommand> [<arg> [value] [opt] ...]. Subcommands are:\r\n"
        b"+DESTROY <key>\r\n"
        b"+    Gone.\r\n"
        b"+HELP\r\n"
        b"+    Print this help.\r\n"
    )
