"""The scripts in real shells, which `make shells` installs: the tabulator key completes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rillway.__main__ import main
from tests.support.programs.terminal import Terminal

# What is typed before the tabulator key, and the last word that it becomes.
COMPLETED = [
    ("rillway ser", "serve"),
    ("rillway help repl", "replay"),
    ("rillway completion fi", "fish"),
    ("rillway lag --oldest", "--oldest-above"),
    ("rillway query --format par", "parquet"),
    ("rillway archive comp", "compact"),
    ("rillway archive compact --targ", "--target-size"),
    ("rillway archive --to x --engine sp", "spark"),
    ("rillway demo departures --dep", "--departures"),
    ("rillway serve --appendfs", "--appendfsync"),
    ("rillway serve --appendfsync alw", "always"),
    ("rillway serve --port 1 --tls-auth-clients opt", "optional"),
    ("rillway serve --appendonly yes redis", "redis.conf"),
    ("rillway serve --dir red", "redis.conf"),
    ("rillway check red", "redis.conf"),
]
# How a shell starts with the script, and a function `rillway` that prints its last argument.
START = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source {0}"),
    "zsh": (["zsh", "-f", "-i"], "autoload -U compinit; compinit -u -D; source {0}"),
}
SHOW = 'rillway() { for last; do :; done; printf "<%s>" "$last"; }'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the scripts, and a file that can be completed."""
    made = tmp_path_factory.mktemp("completion")
    (made / "redis.conf").touch()
    return made


def script(shell: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["completion", shell]) == 0
    path = folder / f"rillway.{shell}"
    path.write_text(capsys.readouterr().out)
    return path


@pytest.mark.parametrize("shell", list(START))
def test_the_tabulator_key_completes(
    shell: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv, setup = START[shell]
    with Terminal(argv) as terminal:
        path = script(shell, folder, capsys)
        terminal.type(f"cd {folder}; {setup.format(path)}; {SHOW}; echo re''ady\r")
        terminal.wait_for("ready")
        for typed, word in COMPLETED:
            terminal.type(f"{typed}\t\r")
            shown = terminal.wait_for(">")
            assert shown.rpartition("<")[2].rstrip("=>") == word, typed


@pytest.mark.parametrize(("typed", "word"), COMPLETED)
def test_fish_completes(
    typed: str, word: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = script("fish", folder, capsys)
    program = f"source {path}; complete -C '{typed}'"
    ran = subprocess.run(
        ["fish", "--no-config", "-c", program], cwd=folder, capture_output=True, text=True
    )
    assert ran.stderr == ""
    assert [line.partition("\t")[0] for line in ran.stdout.splitlines()] == [word]


def test_bash_completes_after_an_equals_sign(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = script("bash", folder, capsys)
    words = "rillway serve --appendfsync = alw"
    program = f"source {path}; COMP_WORDS=({words}); COMP_CWORD=4; _rillway; echo ${{COMPREPLY[@]}}"
    ran = subprocess.run(["bash", "-c", program], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("always\n", "")
