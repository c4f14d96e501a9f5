"""redis-cli's text formats: parsing of a command line and printing of a reply.

`render` prints a RESP2 reply as redis-cli 7 does on a terminal (`redis-cli --no-raw`);
`split_line` reads a typed line into arguments; `command_line` is its inverse, for a reproduction
that can be pasted into redis-cli.

Leaves out: the RESP3 types, quotes in the middle of a word, and the raw, CSV and JSON outputs.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.support.resp import Reply, parse

ESCAPES = {
    ord("\\"): "\\\\",
    ord('"'): '\\"',
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
    ord("\a"): "\\a",
    ord("\b"): "\\b",
}
UNESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "a": "\a"}
PLAIN_ARGUMENT = frozenset(
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:+*$<>(~=,/@!?%&[]{}|^"
)


class BadLine(Exception):
    """A line that redis-cli would refuse: its quotes are unbalanced."""


def quoted(text: bytes) -> str:
    """`text` in double quotes, with redis-cli's escapes."""
    return '"' + "".join(_escaped(byte) for byte in text) + '"'


def _escaped(byte: int) -> str:
    if byte in ESCAPES:
        return ESCAPES[byte]
    if 32 <= byte < 127:
        return chr(byte)
    return f"\\x{byte:02x}"


def command_line(argv: Sequence[bytes]) -> str:
    """A line that redis-cli reads as `argv`."""
    return " ".join(
        argument.decode() if argument and PLAIN_ARGUMENT.issuperset(argument) else quoted(argument)
        for argument in argv
    )


def split_line(line: str) -> list[bytes]:
    """The arguments of a line typed into redis-cli. Raises BadLine."""
    arguments: list[bytes] = []
    position = 0
    while True:
        while position < len(line) and line[position].isspace():
            position += 1
        if position == len(line):
            return arguments
        argument, position = _split_argument(line, position)
        arguments.append(argument)


def _split_argument(line: str, start: int) -> tuple[bytes, int]:
    if line[start] not in "\"'":
        end = start
        while end < len(line) and not line[end].isspace():
            end += 1
        return line[start:end].encode(), end
    quote = line[start]
    argument = bytearray()
    position = start + 1
    while position < len(line) and line[position] != quote:
        if line[position] == "\\" and position + 1 < len(line):
            piece, position = _unescaped(line, position + 1, quote)
        else:
            piece, position = line[position].encode(), position + 1
        argument += piece
    closed = position < len(line)
    followed = closed and position + 1 < len(line) and not line[position + 1].isspace()
    if not closed or followed:
        raise BadLine(line)
    return bytes(argument), position + 1


def _unescaped(line: str, position: int, quote: str) -> tuple[bytes, int]:
    """What the escape stands for whose backslash is just before `position`."""
    character = line[position]
    if quote == "'":
        # Between single quotes only the quote itself can be escaped.
        return (b"'", position + 1) if character == "'" else (b"\\", position)
    digits = line[position + 1 : position + 3]
    if character == "x" and len(digits) == 2:
        try:
            return bytes([int(digits, 16)]), position + 3
        except ValueError:
            pass
    return UNESCAPES.get(character, character).encode(), position + 1


def render(raw: bytes) -> str:
    """A RESP2 reply as `redis-cli --no-raw` prints it, without the last newline."""
    return _rendered(parse(raw), "").removesuffix("\n")


def _rendered(reply: Reply, indent: str) -> str:
    if reply.kind == b"-":
        return f"(error) {reply.text.decode()}\n"
    if reply.kind == b"+":
        return f"{reply.text.decode()}\n"
    if reply.kind == b":":
        return f"(integer) {reply.text.decode()}\n"
    if reply.is_null:
        return "(nil)\n"
    if reply.kind == b"$":
        return quoted(reply.text) + "\n"
    if reply.kind == b"*":
        return _rendered_array(reply, indent)
    raise ValueError(f"no RESP2 type: {reply.head!r}")


def _rendered_array(reply: Reply, indent: str) -> str:
    if not reply.items:
        return "(empty array)\n"
    width = len(str(len(reply.items)))
    inner = indent + " " * (width + 2)
    lines = []
    for number, item in enumerate(reply.items, start=1):
        # The first element follows the parent's number on the same line.
        before = "" if number == 1 else indent
        lines.append(f"{before}{number:>{width}}) {_rendered(item, inner)}")
    return "".join(lines)
