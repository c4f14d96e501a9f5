"""A tool that is missing is named, with how to install it; one that is there runs to its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.programs.redis_tools import ToolMissing, find_tool, run_tool, tool_environment


@pytest.mark.parametrize("name", ["redis-cli", "redis-benchmark"])
def test_a_missing_tool_is_a_failure_that_says_how_to_install_it(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing, match=f"{name} is not installed.*apt-get install redis-tools"):
        find_tool(name)


def test_a_tool_is_run_and_what_it_printed_is_kept() -> None:
    ran = run_tool("redis-cli", "--version")
    assert ran.returncode == 0 and ran.stdout.startswith("redis-cli ")


def test_the_password_of_the_person_who_tests_is_not_handed_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REDISCLI_AUTH", "mine")
    assert "REDISCLI_AUTH" not in tool_environment()
    assert tool_environment({"REDISCLI_AUTH": "theirs"})["REDISCLI_AUTH"] == "theirs"
