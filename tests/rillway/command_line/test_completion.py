"""What a shell completes, and the script that says so."""

from __future__ import annotations

import pytest

from commands.config.configuration import HIDDEN
from rillway.__main__ import SUBCOMMANDS, main
from rillway.cluster.arguments import JOBS as CLUSTER_JOBS
from rillway.command_line.completion import commands
from rillway.command_line.shells import Command, Option
from rillway.pipeline.archive.arguments import JOBS


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_has_the_directives_of_the_server(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "stream-node-max-entries" in script and "maxclients" in script
    assert not any(name in script for name in HIDDEN)


def test_another_shell_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["completion", "tcsh"])
    assert ended.value.code == 2
    assert "invalid choice: 'tcsh'" in capsys.readouterr().err


DIRECTIVES = {"port": (), "appendfsync": ("everysec", "always", "no")}
SUMMARIES = {name: summary for name, (_, summary) in SUBCOMMANDS.items()}


@pytest.fixture(scope="module")
def described() -> dict[str, Command]:
    return {command.name: command for command in commands(SUMMARIES, DIRECTIVES)}


def option(command: Command, name: str) -> Option:
    [found] = [option for option in command.options if name in option.names]
    return found


def test_every_sub_command_and_job_is_there(described: dict[str, Command]) -> None:
    jobs = {*(f"archive {job}" for job in JOBS), "console user", "demo departures"}
    jobs |= {f"cluster {job}" for job in CLUSTER_JOBS}
    assert set(described) == {*SUBCOMMANDS, *jobs, "help", "version"}
    assert all(command.summary for command in described.values())
    assert set(described["archive"].words) == set(JOBS)
    assert set(described["cluster"].words) == set(CLUSTER_JOBS)
    assert set(described["help"].words) == set(SUBCOMMANDS)
    assert described["completion"].words == ("bash", "zsh", "fish")


def test_options_are_those_of_the_parser(described: dict[str, Command]) -> None:
    lag = described["lag"]
    assert option(lag, "--json") == Option(
        ("--json",), "an object for each sample, instead of lines", None
    )
    assert option(lag, "--url").help.startswith("the server (default: the variable RILLWAY_URL")
    assert option(lag, "--stream").values == ()
    assert option(described["query"], "--format").values == ("table", "json", "csv", "parquet")
    assert described["check"].takes_files and not lag.takes_files


def test_directives_are_options_of_serve(described: dict[str, Command]) -> None:
    assert option(described["serve"], "-p") == Option(("--port", "-p"), "", ())
    assert option(described["serve"], "--appendfsync").values == ("everysec", "always", "no")
