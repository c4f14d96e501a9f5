"""Directives as a test gives them, and as lines of the file that the server reads.

A file and not a command line: a value may begin with `--`, and a password is not for `ps`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

Value: TypeAlias = str | int | float | bool | Sequence[str | int]

# Between double quotes the server reads \xHH as a byte; a line break would end the directive.
ESCAPED = re.compile(r'[\\"\x00-\x1f]')

# The port is read from the log (process.py), so that line must be printed, and where it is looked
# for.
RESERVED = {
    "logfile": "the log is kept for the test's report",
    "dir": "the server runs in a folder of its own",
}
SILENT_LEVELS = ("warning", "nothing")


def normalized(directives: Mapping[str, Value]) -> dict[str, Value]:
    """The directives under their names in the file. Raises ValueError for a reserved one."""
    named = {name.lower().replace("_", "-"): value for name, value in directives.items()}
    for name, reason in RESERVED.items():
        if name in named:
            raise ValueError(f"'{name}' cannot be set here: {reason}")
    if named.get("loglevel") in SILENT_LEVELS:
        raise ValueError("'loglevel' must be notice or more talkative: the log names the port")
    return named


def parse_lines(lines: Iterable[str]) -> dict[str, Value]:
    """Directives from lines as in the configuration file: `stream-node-max-entries 10`.

    Raises ValueError for a line that has no value or whose quotes do not balance.
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
        lines.append(" ".join([name, *map(_quoted, _words(value))]))
    return "\n".join(lines) + "\n"


def _words(value: Value) -> list[str]:
    if isinstance(value, bool):
        return ["yes" if value else "no"]
    if isinstance(value, str | int | float):
        return [str(value)]
    return [str(word) for word in value]


def _quoted(word: str) -> str:
    return '"' + ESCAPED.sub(lambda found: f"\\x{ord(found[0]):02x}", word) + '"'
