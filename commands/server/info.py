"""INFO, TIME, MODULE and LOLWUT: what the server reports about itself.

The lines of INFO are in commands/server/info_sections.py. Clients ask for the list of modules when
they start; there are none, and MODULE LOAD is an unknown sub-command. LOLWUT draws a small picture
of a rill that is never the same twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from commands.core.arguments import Arguments
from commands.core.client import Client
from commands.core.host import REDIS_VERSION, RILLWAY_VERSION
from commands.core.instance import Instance
from commands.core.registry import (
    ADMIN,
    FAST,
    LOADING,
    NOSCRIPT,
    READONLY,
    STALE,
    command,
)
from commands.documentation import help_reply
from commands.server.info_sections import ONLY_WHEN_ASKED_FOR, SECTIONS, TITLES
from commands.streams.policies.timer import PolicyTimer
from protocol import replies
from protocol.request import Request

# Words that stand for several sections.
_GROUPS = {
    "default": SECTIONS.keys() - ONLY_WHEN_ASKED_FOR,
    # Without keysizes, for which every key is looked at: exporters ask for all every few seconds.
    "all": SECTIONS.keys() - {"modules", "keysizes"},
    "everything": SECTIONS.keys() - {"keysizes"},
}


@command("INFO", arity=-1, flags=LOADING | STALE)
def info(client: Client, argv: Request) -> bytes:
    """A verbatim string. Names of sections ignore case; unknown ones give no text."""
    words = [word.decode("latin-1").lower() for word in argv[1:]] or ["default"]
    wanted = {name for word in words for name in _GROUPS.get(word, {word})}
    if "tls" in wanted and not client.instance.host.facts().certificates:
        wanted.discard("tls")  # Redis has no such section
    if "policies" not in words and not client.instance.feature(PolicyTimer).is_used:
        wanted.discard("policies")  # the same
    config = client.instance.config
    if "access" not in words and not (config.audit_log or config.user_limit):
        wanted.discard("access")
    texts = [section_text(client.instance, name) for name in SECTIONS if name in wanted]
    return replies.verbatim("\r\n".join(texts).encode("utf-8", "surrogateescape"), client.resp)


def section_text(instance: Instance, name: str) -> str:
    """One section with its heading."""
    lines = [f"# {TITLES.get(name, name.capitalize())}"]
    lines += [f"{field}:{value}" for field, value in SECTIONS[name](instance)]
    return "".join(f"{line}\r\n" for line in lines)


@command("TIME", arity=1, flags=LOADING | STALE | FAST)
def time(client: Client, argv: Request) -> bytes:
    """Unix seconds and the microseconds of the second, as two strings."""
    seconds, microseconds = divmod(client.instance.host.clock_us(), 1_000_000)
    return replies.bulk_array([b"%d" % seconds, b"%d" % microseconds])


@command("MODULE LIST", arity=2, flags=ADMIN | NOSCRIPT)
def module_list(client: Client, argv: Request) -> bytes:
    """An empty array, as of a Redis without modules. Source: Redis 7.0."""
    return replies.EMPTY_ARRAY


@command("MODULE HELP", arity=2, flags=LOADING | STALE)
def module_help(client: Client, argv: Request) -> bytes:
    """Array of simple strings. Source: Redis 7.0."""
    return help_reply(b"MODULE", b"LIST", b"    Return a list of loaded modules.")


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
