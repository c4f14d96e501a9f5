"""What forked processes report, what they share, and what follows if one dies."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.programs.servers import ROOT

CONFTEST = """
import os, pytest
pytest_plugins = ("tests.support.forked_run",)

@pytest.fixture(scope="session")
def process(tmp_path_factory):
    made = tmp_path_factory.mktemp("process")
    yield os.getpid()
    os.rmdir(made)
"""
OUTCOMES = """
import os, signal, sys, warnings, pytest

def test_passes(process): pass

def test_fails(process):
    print("said before it failed")
    assert 1 == 2

def test_warns(process): warnings.warn("a warning of a test")

@pytest.mark.skip(reason="a reason")
def test_skipped(): pass

@pytest.fixture
def broken(): raise ValueError("a fixture is broken")

def test_error(broken): pass
"""
DIES = """
import os, signal, pytest

@pytest.fixture(scope="module")
def alive(): return os.getpid()

def test_before(alive): pass
def test_dies(alive): os.kill(os.getpid(), signal.SIGKILL)
def test_after(alive): assert alive == os.getpid()
def test_last(alive): assert alive == os.getpid()
"""


MEETS = """
import pathlib, time
def test_both_are_there(process):
    pathlib.Path(f"process-{process}").touch()
    while len(list(pathlib.Path().glob("process-*"))) < 2:
        time.sleep(0.01)
"""
WAITS = """
import pathlib, time
def test_others_have_begun():
    while not pathlib.Path("seen").exists():
        time.sleep(0.01)
"""
LOOKS = """
import os, pathlib
def test_the_priority():
    pathlib.Path("seen").touch()
    assert os.getpriority(os.PRIO_PROCESS, 0) >= 10
"""


def run_pytest(folder: Path, *words: str, **files: str) -> tuple[int, str]:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-v", "--jobs", "2", *words]
    ours = {"PYTHONPATH": str(ROOT), "COLUMNS": "200", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ran = subprocess.run(argv, cwd=folder, env=os.environ | ours, capture_output=True, text=True)
    return ran.returncode, ran.stdout + ran.stderr


def test_reports_are_those_of_one_process(tmp_path: Path) -> None:
    files = {"test_one": OUTCOMES, "test_two": MEETS, "test_three": MEETS, "test_four": DIES}
    status, printed = run_pytest(tmp_path, conftest=CONFTEST, **files)
    assert status == 1
    for words in (
        "2 failed, 7 passed, 1 skipped, 1 warning, 1 error",
        "said before it failed",
        "assert 1 == 2",
        "a warning of a test",
        "ValueError: a fixture is broken",
        "test_one.py::test_skipped SKIPPED (a reason)",
        "its process ended with status -9",
    ):
        assert words in printed


def test_the_spare_process_has_low_priority_and_begins_at_the_end(tmp_path: Path) -> None:
    files = {"test_a": WAITS, "test_b": WAITS, "test_c": LOOKS}
    status, printed = run_pytest(tmp_path, "--spare", conftest=CONFTEST, **files)
    assert status == 0, printed


def test_an_error_of_a_fixture_of_the_session_is_one_of_the_last_test(tmp_path: Path) -> None:
    broken = CONFTEST.replace("os.rmdir(made)", "os.rmdir(made / 'none')")
    one = "def test_one(process): pass"
    status, printed = run_pytest(tmp_path, conftest=broken, test_one=one, test_two=one)
    assert status == 1
    assert "ERROR at teardown of test_one" in printed
    assert "2 passed" in printed


def test_the_first_failure_ends_the_run_if_that_is_asked(tmp_path: Path) -> None:
    files = {f"test_{number}": OUTCOMES for number in range(8)}
    status, printed = run_pytest(tmp_path, "-x", conftest=CONFTEST, **files)
    assert status == 1
    assert "stopping after 1 failures" in printed
    assert "1 failed" in printed
