"""The log: lines in Redis's format, JSON or logfmt, on standard output or in `logfile`; and syslog.

`LogFile` keeps a file open and follows its name: after logrotate has renamed the file, the log goes
on in a new one. A reopening that fails (the folder is gone) leaves the log where it is.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable
from typing import TextIO

from commands.config.configuration import Configuration
from protocol.records import entity

PERIOD_US = 60_000_000


@entity
class _Kind:
    """Lines of one kind that were not written in the present minute."""

    ends_us: int  # of its minute
    level: str
    last: str = ""
    count: int = 0


class BoundedLog:
    """Writes at most one line of each kind a minute, and counts the others."""

    def __init__(self, log: Callable[[str, str], None]) -> None:
        self._log = log
        self._kinds: dict[str, _Kind] = {}

    def add(self, level: str, kind: str, message: str, at_us: int) -> None:
        """Write a line, or count it if its kind has had one."""
        found = self._kinds.get(kind)
        if found is None:
            self._kinds[kind] = _Kind(at_us + PERIOD_US, level)
            self._log(level, message)
        else:
            found.count += 1
            found.last = message

    def tick(self, at_us: int) -> None:
        """Called several times a second: write the number of lines once their minute is over."""
        due = [name for name, kind in self._kinds.items() if kind.ends_us <= at_us]
        for name in due:
            kind = self._kinds.pop(name)
            if kind.count:
                text = f"{name}: {kind.count} more within a minute. The last: {kind.last}"
                self._log(kind.level, text)
                self._kinds[name] = _Kind(at_us + PERIOD_US, kind.level)


LEVELS = {
    "debug": logging.DEBUG,
    "verbose": logging.DEBUG + 5,
    "notice": logging.INFO,
    "warning": logging.WARNING,
    "nothing": logging.CRITICAL + 10,
}
_LEVEL_NAMES = {number: name for name, number in LEVELS.items()}


class LogFile(logging.FileHandler):
    """A log in a file that may be renamed or removed while it is open."""

    def follow_name(self) -> None:
        """Open the file again if its name leads to another one, or to none."""
        if self.stream is None:
            return  # closed
        mine = os.fstat(self.stream.fileno())
        try:
            named = os.stat(self.baseFilename)
        except FileNotFoundError:
            self.reopen()
            return
        except OSError:
            return  # it cannot be opened either
        if (named.st_dev, named.st_ino) != (mine.st_dev, mine.st_ino):
            self.reopen()

    def reopen(self) -> None:
        """Close the file and open the one that its name leads to."""
        try:
            opened = self._open()
        except OSError:
            return
        old, self.stream = self.stream, opened
        if old is not None:
            old.close()


class Terminal(logging.StreamHandler[TextIO]):
    """Standard output that shows colours."""


class LogFormatter(logging.Formatter):
    """`<pid>:M <time> <mark of the level> <message>`."""

    marks = {logging.DEBUG: ".", logging.DEBUG + 5: "-", logging.INFO: "*", logging.WARNING: "#"}

    def format(self, record: logging.LogRecord) -> str:
        when = self.formatTime(record, "%d %b %Y %H:%M:%S")
        mark = self.marks.get(record.levelno, "#")
        text = f"{record.process}:M {when}.{int(record.msecs):03d} {mark} {record.getMessage()}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


class ColourFormatter(LogFormatter):
    """A line for a terminal: warnings are yellow, details are dim."""

    colours = {logging.DEBUG: "2", logging.DEBUG + 5: "2", logging.INFO: ""}

    def format(self, record: logging.LogRecord) -> str:
        text, colour = super().format(record), self.colours.get(record.levelno, "33")
        return f"\x1b[{colour}m{text}\x1b[0m" if colour else text


class JsonFormatter(logging.Formatter):
    """An object on a line: time (UTC), level (as in `loglevel`), pid, message, and a traceback."""

    def format(self, record: logging.LogRecord) -> str:
        import json  # few need it: not at the start

        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        fields = {
            "time": f"{when}.{int(record.msecs):03d}Z",
            "level": _LEVEL_NAMES.get(record.levelno, "warning"),
            "pid": record.process,
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        # Bytes of users that are no UTF-8: half a surrogate is valid in no other program.
        return json.dumps(
            {
                name: value.encode("utf-8", "backslashreplace").decode()
                if isinstance(value, str)
                else value
                for name, value in fields.items()
            }
        )


class LogfmtFormatter(logging.Formatter):
    """`pid=1 timestamp="..." level=info message="..."`; Valkey 8.1 has a role as well."""

    levels = {logging.DEBUG: "debug", logging.DEBUG + 5: "info", logging.INFO: "notice"}

    def format(self, record: logging.LogRecord) -> str:
        when = self.formatTime(record, "%d %b %Y %H:%M:%S")
        level, text = self.levels.get(record.levelno, "warning"), record.getMessage()
        if record.exc_info:
            text += f"\n{self.formatException(record.exc_info)}"
        # As in Valkey, so that a message is one value on one line.
        text = text.replace('"', "'").replace("\r", " ").replace("\n", " ")
        timestamp = f"{when}.{int(record.msecs):03d}"
        return f'pid={record.process} timestamp="{timestamp}" level={level} message="{text}"'


class SystemLog(logging.Handler):
    """The log of the system, by syslog(3); as in Redis, beside the other one."""

    def __init__(self, ident: str, facility: str) -> None:
        super().__init__()
        import syslog

        self._write = syslog.syslog
        self._priorities = {
            logging.DEBUG: syslog.LOG_DEBUG,
            logging.DEBUG + 5: syslog.LOG_INFO,
            logging.INFO: syslog.LOG_NOTICE,
        }
        self._highest = syslog.LOG_WARNING
        number: int = getattr(syslog, f"LOG_{facility.upper()}")
        syslog.openlog(ident, syslog.LOG_PID | syslog.LOG_NDELAY | syslog.LOG_NOWAIT, number)

    def emit(self, record: logging.LogRecord) -> None:
        """Write the message alone: the system adds the time and the process."""
        self._write(self._priorities.get(record.levelno, self._highest), record.getMessage())


def set_log_format(config: Configuration) -> None:
    """Write lines as `log-format` says from now on. syslog has a format of its own."""
    for handler in logging.getLogger("rillway").handlers:
        if isinstance(handler, logging.StreamHandler):
            is_coloured = isinstance(handler, Terminal)
            text = ColourFormatter() if is_coloured else LogFormatter()
            others = {"json": JsonFormatter, "logfmt": LogfmtFormatter}
            formatter = others.get(config.log_format)
            handler.setFormatter(formatter() if formatter is not None else text)


def set_up_log(config: Configuration, *, has_colour: bool = False) -> LogFile | None:
    """Log to `logfile`, or to standard output (None). Raises OSError.

    With `has_colour` standard output is a terminal that shows colours.
    """
    log_file = LogFile(config.logfile) if config.logfile else None
    logger = logging.getLogger("rillway")
    logger.addHandler(log_file or (Terminal if has_colour else logging.StreamHandler)(sys.stdout))
    set_log_format(config)
    if config.syslog_enabled:
        logger.addHandler(SystemLog(config.syslog_ident, config.syslog_facility))
    logger.setLevel(LEVELS[config.loglevel])
    logger.propagate = False
    # The loop warns of each write to a TLS connection whose peer has closed.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    return log_file
