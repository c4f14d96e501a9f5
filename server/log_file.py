"""The log: lines in Redis's format, on standard output or in `logfile`; syslog as well.

`LogFile` keeps a file open and follows its name: after logrotate has renamed the file, the log goes
on in a new one. A reopening that fails (the folder is gone) leaves the log where it is.
"""

from __future__ import annotations

import logging
import os
import sys

from commands.config.configuration import Configuration

LEVELS = {
    "debug": logging.DEBUG,
    "verbose": logging.DEBUG + 5,
    "notice": logging.INFO,
    "warning": logging.WARNING,
    "nothing": logging.CRITICAL + 10,
}


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


class LogFormatter(logging.Formatter):
    """`<pid>:M <time> <mark of the level> <message>`."""

    marks = {logging.DEBUG: ".", logging.DEBUG + 5: "-", logging.INFO: "*", logging.WARNING: "#"}

    def format(self, record: logging.LogRecord) -> str:
        when = self.formatTime(record, "%d %b %Y %H:%M:%S")
        mark = self.marks.get(record.levelno, "#")
        text = f"{record.process}:M {when}.{int(record.msecs):03d} {mark} {record.getMessage()}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


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


def set_up_log(config: Configuration) -> LogFile | None:
    """Log to `logfile`, or to standard output (None). Raises OSError."""
    log_file = LogFile(config.logfile) if config.logfile else None
    handler = log_file or logging.StreamHandler(sys.stdout)
    handler.setFormatter(LogFormatter())
    logger = logging.getLogger("rillway")
    logger.addHandler(handler)
    if config.syslog_enabled:
        logger.addHandler(SystemLog(config.syslog_ident, config.syslog_facility))
    logger.setLevel(LEVELS[config.loglevel])
    logger.propagate = False
    # The loop warns of each write to a TLS connection whose peer has closed.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    return log_file
