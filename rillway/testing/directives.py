"""Converts a test's directives to a configuration file for the server.

A file and not a command line, because a value may begin with `--`, and `ps` would show passwords.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

Value: TypeAlias = str | int | float | bool | Sequence[str | int]

# Between double quotes the server reads \xHH as a byte; a line break would end the directive.
ESCAPED = re.compile(r'[\\"\x00-\x1f]')

# Reserved: the port is read from the log (process.py), so the log must be in its place.
RESERVED = {
    "logfile": "the log is kept for the test's report",
    "dir": "the server runs in a folder of its own",
}
SILENT_LEVELS = ("warning", "nothing")


def normalized(directives: Mapping[str, Value]) -> dict[str, Value]:
    """The directives with their names in the file. Raises ValueError for a reserved one."""
    named = {name.lower().replace("_", "-"): value for name, value in directives.items()}
    for name, reason in RESERVED.items():
        if name in named:
            raise ValueError(f"'{name}' cannot be set here: {reason}")
    if named.get("loglevel") in SILENT_LEVELS:
        raise ValueError("'loglevel' must be notice or more verbose: the log names the port")
    return named


def parse_lines(lines: Iterable[str]) -> dict[str, Value]:
    """Directives from lines of the configuration file: `stream-node-max-entries 10`.

    Raises ValueError for a line without a value or with unbalanced quotes.
    """
    import shlex

    directives: dict[str, Value] = {}
    for line in lines:
        name, *words = shlex.split(line)
        if not words:
            raise ValueError(f"directive '{line}': expected a name and a value")
        directives[name] = words
    return directives


def file_text(directives: Mapping[str, Value]) -> str:
    """The lines of a configuration file, every word of a value in quotes."""
    lines = []
    for name, value in directives.items():
        lines.append(" ".join([name, *map(_quoted, words(value))]))
    return "\n".join(lines) + "\n"


def words(value: Value) -> list[str]:
    """A value as the words that follow a directive's name."""
    if isinstance(value, bool):
        return ["yes" if value else "no"]
    if isinstance(value, str | int | float):
        return [str(value)]
    return [str(word) for word in value]


def _quoted(word: str) -> str:
    return '"' + ESCAPED.sub(lambda found: f"\\x{ord(found[0]):02x}", word) + '"'
