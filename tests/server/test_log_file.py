"""The log file: it follows its name."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from server.log_file import LogFile


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rillway.log"


def write(log_file: LogFile, message: str) -> None:
    log_file.emit(logging.makeLogRecord({"msg": message}))


def test_a_renamed_log_goes_on_in_a_new_file(path: Path) -> None:
    log_file = LogFile(path)
    write(log_file, "old")
    path.rename(path.with_suffix(".1"))
    write(log_file, "still old")
    log_file.follow_name()
    write(log_file, "new")
    log_file.close()
    assert path.with_suffix(".1").read_text() == "old\nstill old\n"
    assert path.read_text() == "new\n"


def test_a_log_whose_name_leads_to_another_file_goes_on_there(path: Path) -> None:
    log_file = LogFile(path)
    path.rename(path.with_suffix(".1"))
    path.write_text("made by logrotate\n")
    log_file.follow_name()
    write(log_file, "new")
    log_file.close()
    assert path.read_text() == "made by logrotate\nnew\n"


def test_a_log_in_its_place_stays_open(path: Path) -> None:
    log_file = LogFile(path)
    stream = log_file.stream
    log_file.follow_name()
    assert log_file.stream is stream
    log_file.close()


def test_a_log_that_cannot_be_opened_again_stays_where_it_is(path: Path) -> None:
    folder = path.parent / "logs"
    folder.mkdir()
    log_file = LogFile(folder / "rillway.log")
    moved = folder.rename(path.parent / "moved")
    log_file.follow_name()
    write(log_file, "kept")
    log_file.close()
    assert (moved / "rillway.log").read_text() == "kept\n"
