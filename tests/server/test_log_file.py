"""The log file, which follows its name, and the log of the system."""

from __future__ import annotations

import json
import logging
import re
import syslog
from pathlib import Path

import pytest

from commands.config.configuration import Configuration
from server.log_file import (
    LEVELS,
    PERIOD_US,
    BoundedLog,
    ColourFormatter,
    JsonFormatter,
    LogFile,
    LogfmtFormatter,
    LogFormatter,
    SystemLog,
    Terminal,
    set_log_format,
)


class Kept:
    """A bounded log whose lines are kept."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []
        self.log = BoundedLog(lambda level, text: self.lines.append((level, text)))


def test_of_a_thousand_lines_one_is_written_and_the_others_are_counted() -> None:
    kept = Kept()
    for number in range(1000):
        kept.log.add("warning", "Error", f"Error: {number}", number)
        kept.log.tick(number)
    assert kept.lines == [("warning", "Error: 0")]
    kept.log.tick(PERIOD_US)
    last = "Error: 999 more within a minute. The last: Error: 999"
    assert kept.lines == [("warning", "Error: 0"), ("warning", last)]


def test_a_kind_that_goes_on_has_one_line_a_minute() -> None:
    kept = Kept()
    for second in range(600):
        kept.log.tick(second * 1_000_000)
        kept.log.add("notice", "x", "x", second * 1_000_000)
    assert len(kept.lines) == 10


def test_lines_that_are_rare_are_all_written() -> None:
    kept = Kept()
    for number in range(5):
        kept.log.tick(number * PERIOD_US)
        kept.log.add("warning", "x", str(number), number * PERIOD_US)
    assert [text for _, text in kept.lines] == list("01234")


def test_kinds_are_counted_by_themselves() -> None:
    kept = Kept()
    for number in range(3):
        kept.log.add("warning", "a", f"a{number}", 0)
        kept.log.add("notice", "b", f"b{number}", 0)
    assert kept.lines == [("warning", "a0"), ("notice", "b0")]
    kept.log.tick(PERIOD_US)
    assert kept.lines[2:] == [
        ("warning", "a: 2 more within a minute. The last: a2"),
        ("notice", "b: 2 more within a minute. The last: b2"),
    ]


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


def test_the_log_of_the_system_gets_messages_with_their_priorities(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[tuple[object, ...]] = []
    written: list[tuple[int, str]] = []
    monkeypatch.setattr(syslog, "openlog", lambda *words: opened.append(words))
    monkeypatch.setattr(syslog, "syslog", lambda *words: written.append(words))
    log = SystemLog("mine", "local3")
    for level in (logging.DEBUG, logging.DEBUG + 5, logging.INFO, logging.WARNING, 60):
        log.emit(logging.makeLogRecord({"msg": "level %d", "args": (level,), "levelno": level}))
    options = syslog.LOG_PID | syslog.LOG_NDELAY | syslog.LOG_NOWAIT
    assert opened == [("mine", options, syslog.LOG_LOCAL3)]
    assert [priority for priority, _ in written] == [
        syslog.LOG_DEBUG,
        syslog.LOG_INFO,
        syslog.LOG_NOTICE,
        syslog.LOG_WARNING,
        syslog.LOG_WARNING,
    ]
    assert written[0][1] == "level 10"


def record(message: str, level: int = logging.INFO) -> logging.LogRecord:
    made = logging.makeLogRecord({"msg": message, "levelno": level, "process": 7})
    made.created, made.msecs = 1_700_000_000.25, 250.0
    return made


def test_a_line_of_json_has_time_level_process_and_message() -> None:
    line = JsonFormatter().format(record("Ready", LEVELS["verbose"]))
    assert json.loads(line) == {
        "time": "2023-11-14T22:13:20.250Z", "level": "verbose", "pid": 7, "message": "Ready",
    }  # fmt: skip


def test_a_line_of_json_is_one_line_whatever_it_says() -> None:
    failed = record('two\nlines, "quotes", \udcff and ü')
    try:
        raise ValueError("why")
    except ValueError as error:
        failed.exc_info = ValueError, error, error.__traceback__
    line = JsonFormatter().format(failed)
    assert line.isascii()
    assert "\n" not in line
    read = json.loads(line)
    assert read["message"] == 'two\nlines, "quotes", \\udcff and ü'
    assert read["traceback"].endswith("ValueError: why")


def test_a_line_of_logfmt_is_one_line_whatever_it_says() -> None:
    line = LogfmtFormatter().format(record('two\nlines, "quotes"'))
    assert re.fullmatch(
        r"pid=\d+ timestamp=\"\d\d \w+ \d{4} [\d:.]{12}\" level=notice"
        r" message=\"two lines, 'quotes'\"",
        line,
    )


def test_the_format_changes_with_the_directive() -> None:
    logger, handler = logging.getLogger("rillway"), logging.StreamHandler()
    logger.addHandler(handler)
    try:
        for name, kind in (
            ("json", JsonFormatter),
            ("text", LogFormatter),
            ("logfmt", LogfmtFormatter),
            ("legacy", LogFormatter),  # Valkey's word
        ):
            config = Configuration()
            config.set("log-format", [name])
            set_log_format(config)
            assert type(handler.formatter) is kind
    finally:
        logger.removeHandler(handler)


@pytest.mark.parametrize(
    ("level", "begin"), [("warning", "\x1b[33m7:M "), ("notice", "7:M "), ("debug", "\x1b[2m7:M ")]
)
def test_on_a_terminal_levels_have_colours(level: str, begin: str) -> None:
    record = logging.makeLogRecord({"msg": "m", "levelno": LEVELS[level], "process": 7})
    shown = ColourFormatter().format(record)
    assert shown.startswith(begin)
    assert shown.endswith("m\x1b[0m") == (level != "notice")


def test_a_terminal_keeps_its_colours_when_the_format_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    handler, config = Terminal(), Configuration()
    monkeypatch.setattr(logging.getLogger("rillway"), "handlers", [handler])
    for log_format, kind in [("json", JsonFormatter), ("text", ColourFormatter)]:
        config.log_format = log_format
        set_log_format(config)
        assert type(handler.formatter) is kind
