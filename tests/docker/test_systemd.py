"""The unit for systemd and its configuration file, as far as they can be tried without systemd."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from commands.config.configuration import DIRECTIVES
from server.config_file import load_configuration
from tests.support.programs import processes
from tests.support.programs.ports import free_port
from tests.support.programs.servers import ROOT, SERVED

FOLDER = ROOT / "docker" / "systemd"
UNIT = (FOLDER / "rillway.service").read_text()
CONFIGURATION = (FOLDER / "rillway.conf").read_text()
PROGRAM = "/opt/rillway/bin/rillway"
# Of ten, where 10 is the exposure of a unit without any of the settings.
MOST_EXPOSURE = 1.5


def analyze(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["systemd-analyze", *words], capture_output=True, text=True)


def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "rillway.service"
    unit.write_text(UNIT.replace(PROGRAM, sys.executable))
    done = analyze("verify", str(unit))
    assert (done.returncode, done.stderr) == (0, "")


def test_the_unit_gives_the_server_little_more_than_its_sockets_and_its_folder() -> None:
    threshold = str(round(10 * MOST_EXPOSURE))
    words = ("--offline=true", "--no-pager", f"--threshold={threshold}")
    done = analyze("security", *words, str(FOLDER / "rillway.service"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_file_starts_as_it_is_and_every_default_in_it_is_one(tmp_path: Path) -> None:
    file = tmp_path / "rillway.conf"
    file.write_text(CONFIGURATION)
    config, _ = load_configuration([str(file)])
    assert (config.dir, config.appendonly, config.save) == ("/var/lib/rillway", True, ())
    defaults = re.findall(r"^# ([a-z][a-z-]*) (.*)$", CONFIGURATION, re.MULTILINE)
    shown = [(name, text) for name, text in defaults if name in DIRECTIVES]
    assert len(shown) > 100
    file.write_text("".join(f"{name} {text}\n" for name, text in shown))
    config, _ = load_configuration([str(file)])
    for name, _ in shown:
        assert getattr(config, DIRECTIVES[name].attribute) == DIRECTIVES[name].default, name


@pytest.mark.integration
def test_the_service_reports_that_it_is_ready_and_ends_at_sigterm(tmp_path: Path) -> None:
    found = re.search(rf"^ExecStart={PROGRAM} (.*)$", UNIT, re.MULTILINE)
    assert found is not None
    file = tmp_path / "rillway.conf"
    file.write_text(CONFIGURATION.replace("/var/lib/rillway", str(tmp_path)))
    words = found[1].replace("/etc/rillway/rillway.conf", str(file)).split()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.bind(str(tmp_path / "notify"))
        supervisor.settimeout(15)
        process = processes.start(
            [sys.executable, "-m", "rillway", *words, "--port", str(free_port())],
            folder=SERVED,
            output=tmp_path / "log",
            environment={**os.environ, "NOTIFY_SOCKET": str(tmp_path / "notify")},
        )
        try:
            states = b""
            while b"READY=1" not in states:
                states += supervisor.recv(1000)
        finally:
            assert processes.stop(process) == 0
    assert (tmp_path / "appendonlydir").is_dir()
