"""ACL categories of commands."""

from __future__ import annotations

import pytest

import commands.catalogue  # noqa: F401
from commands.core.registry import COMMANDS
from commands.server.command.categories import acl_categories
from commands.server.command.table import find_command


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("get", "@read @string @fast"),
        ("set", "@write @string @slow"),
        ("eval_ro", "@scripting @slow"),
        ("wait", "@slow @blocking @connection"),
        ("config|set", "@admin @dangerous @slow"),
        ("config", "@slow"),
    ],
)
def test_categories_follow_from_flags_and_group(name: str, expected: str) -> None:
    command = find_command(name.encode(), COMMANDS)
    assert command is not None
    assert b" ".join(acl_categories(command)).decode() == expected
