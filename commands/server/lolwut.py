"""LOLWUT: the version, below a small picture of a rill that is never the same twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from commands.core.arguments import Arguments
from commands.core.client import Client
from commands.core.host import REDIS_VERSION, RILLWAY_VERSION
from commands.core.registry import FAST, READONLY, command
from protocol import replies
from protocol.request import Request

Chance = Callable[[int], int]  # a number in [0, n)

COLUMNS, ROWS = 64, 16
MAX_SIDE = 150  # a picture takes some milliseconds at most
# One in this many places of the water has an entry; one in this many of the bank a tuft of grass.
ENTRY_EVERY, GRASS_EVERY = 12, 9


@command("LOLWUT", arity=-1, flags=READONLY | FAST)
def lolwut(client: Client, argv: Request) -> bytes:
    """`LOLWUT [VERSION n] [columns [rows]]`; every version draws the same kind of picture."""
    arguments = Arguments(argv, 1)
    if arguments.remaining > 1 and arguments.take(b"VERSION"):
        arguments.next_int()
    columns = arguments.next_int() if arguments else COLUMNS
    rows = arguments.next_int() if arguments else ROWS
    columns, rows = (min(max(side, 1), MAX_SIDE) for side in (columns, rows))
    lines = draw(columns, rows, client.instance.host.random_below)
    text = "\n".join([*lines, "", f"Rillway {RILLWAY_VERSION}. Redis ver. {REDIS_VERSION}"]) + "\n"
    return replies.verbatim(text.encode(), client.resp)


def draw(columns: int, rows: int, chance: Chance) -> Iterator[str]:
    """A stream from above: its left bank wanders, its width swells and shrinks."""
    width = max(1, columns // 5)
    left = chance(max(1, columns - width))
    drift = 0
    for _ in range(rows):
        drift = min(2, max(-2, drift + chance(3) - 1))
        width = min(columns, max(1, width + chance(3) - 1))
        left = min(columns - width, max(0, left + drift))
        yield (
            _bank(left, chance) + _water(width, chance) + _bank(columns - left - width, chance)
        ).rstrip()


def _bank(length: int, chance: Chance) -> str:
    return "".join(" " if chance(GRASS_EVERY) else '"' for _ in range(length))


def _water(length: int, chance: Chance) -> str:
    return "".join("~" if chance(ENTRY_EVERY) else "o" for _ in range(length))
