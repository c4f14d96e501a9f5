"""The log lines that both servers print for the same event, as patterns that find them."""

from __future__ import annotations

import re

# Of a start, and of the files that it loads. `<f>` is the name of a file.
LOADING = (
    r"Reading RDB base file on AOF loading\.\.\.",
    r"DB loaded from (base|incr) file (?P<f>\S+):",
    r"DB loaded from append only file:",
    r"DB loaded from disk:",
    r"Done loading RDB, keys loaded: \d+, keys expired: \d+\.",
    r"short read while loading the AOF file (?P<f>\S+?)!!!",
    r"Truncating the AOF (?P<f>\S+) at offset \d+ !!!",
    r"AOF (?P<f>\S+) loaded anyway because aof-load-truncated is enabled",
    r"Revert incomplete MULTI/EXEC transaction in AOF file (?P<f>\S+)",
    r"Unexpected end of file reading the append only file",
    r"Bad file format reading the append only file",
    r"Unknown command '\w+' reading the append only file",
    r"Fatal error: the truncated file is not the last file",
    r"Unable to obtain the AOF file (?P<f>\S+) length",
    r"Short read or OOM loading DB",
    r"Wrong RDB checksum",
    r"Found an empty AOF manifest",
    r"Found duplicate base file information",
    r"Found a non-monotonic sequence number",
    r"Invalid AOF manifest file format",
    r"Unknown AOF file type",
    r"The AOF manifest file contains too long line",
    r"File can't be a path, just a filename",
)
# Of an end.
ENDING = (
    r"Received SIG\w+ scheduling shutdown",
    r"User requested shutdown\.\.\.",
    r"Waiting for replicas before shutting down\.",
    r"Lagging replica \S+:\d+ reported offset \d+ behind master, lag=\d+, state=\w+\.",
    r"\d+ of \d+ replicas are in sync when shutting down\.",
    r"Shutdown manually aborted\.",
    r"You insist\.\.\. exiting now\.",
    r"Calling fsync\(\) on the AOF file\.",
    r"Saving the final RDB snapshot before exiting\.",
    r"Error trying to save the DB, can't exit\.",
    r"Error trying to save the DB\. Exit anyway\.",
    r"Errors trying to shut down the server",
    r"Removing the pid file\.",
    r"is now ready to exit, bye bye\.\.\.",
)
_EITHER = re.compile("|".join(f"(?:{re.sub(r'[?]P<f>', '', p)})" for p in LOADING + ENDING))
# What differs between two servers, or from run to run.
_PLACES = re.compile(r"\S+:\d+ reported|lag=\d+")


def events(log: str) -> list[str]:
    """The lines of a log that have a pattern: the matched parts, in order."""
    found = (_EITHER.search(line) for line in log.splitlines())
    return [_PLACES.sub("", match[0]) for match in found if match is not None]
