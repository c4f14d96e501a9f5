"""commands/core/documentation.py: the rows of the families' tables."""

from __future__ import annotations

import commands.catalogue  # noqa: F401
from commands.core.documentation import row_of
from commands.core.registry import COMMANDS


def test_a_row_has_the_group_and_the_version_of_its_family() -> None:
    row = row_of(COMMANDS[b"xlen"])
    assert (row.group, row.since) == ("stream", "5.0.0")


def test_a_row_may_have_others() -> None:
    row = row_of(COMMANDS[b"dbsize"])
    assert (row.group, row.since) == ("server", "1.0.0")
    assert row_of(COMMANDS[b"config"].subcommands[b"help"]).since == "5.0.0"
