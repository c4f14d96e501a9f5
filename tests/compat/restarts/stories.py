"""Random stories of three servers: writes, roles, snapshots, ends, starts and replicas that lag.

A story is drawn from a seed before anything runs, so that both programs go through the same one.
Each step names a node by its number and leaves all of them running.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

NODES = 3
# How a node ends; the last is a kill after SAVE.
ENDS = ("SHUTDOWN NOW", "SHUTDOWN", "SHUTDOWN SAVE", "SHUTDOWN NOSAVE", "SIGTERM", "SIGINT", "KILL")
# What keeps a replica from acknowledging writes.
LAGS = ("SIGSTOP", "CLIENT PAUSE")
# How a time ends in which a replica was stopped: it goes on, with or without a shutdown that waits
# for it; or the primary does not wait for it. With a ! no snapshot can be saved.
LAG_ENDS = (
    *("SIGCONT", "SHUTDOWN", "SHUTDOWN SAVE", "SHUTDOWN NOSAVE", "SHUTDOWN FORCE", "SIGTERM"),
    *("SHUTDOWN NOW", "SHUTDOWN NOW NOSAVE", "SHUTDOWN FORCE NOW", "SHUTDOWN SAVE NOW FORCE"),
    *("!SHUTDOWN", "!SHUTDOWN SAVE", "!SHUTDOWN SAVE NOW", "!SHUTDOWN SAVE FORCE NOW"),
    "!SHUTDOWN NOSAVE NOW",
)
# What clients ask for in that time; each has a connection of its own.
LAG_REQUESTS = (
    ("CLIENT", "PAUSE", "100000", "WRITE"),
    ("CLIENT", "UNPAUSE"),
    ("SET", "k1", "held"),
    ("GET", "k1"),
    ("SHUTDOWN",),
    ("SHUTDOWN", "NOSAVE", "FORCE"),
    ("SHUTDOWN", "ABORT"),
    ("SHUTDOWN", "ABORT", "NOW"),
    ("FAILOVER", "TO", "127.0.0.1", "STOPPED"),
    ("FAILOVER", "ABORT"),
    ("WAIT", "2", "0"),
    ("BLPOP", "nolist", "0"),
)


@dataclass(frozen=True)
class Step:
    """One step: its kind, and what that kind needs."""

    kind: str
    node: int = 0
    other: int = 0
    how: str = ""
    by: str = ""
    commands: tuple[tuple[int, tuple[str, ...]], ...] = ()  # (database, command)

    def __str__(self) -> str:
        words = [self.kind, str(self.node), self.by, self.how, f"-> {self.other}"]
        return " ".join(words) + (f" {self.commands}" if self.commands else "")


@dataclass
class Story:
    """The directives of all nodes, and the steps."""

    directives: tuple[str, ...]
    steps: list[Step] = field(default_factory=list)


def drawn(seed: int, length: int) -> Story:
    """The story of a seed."""
    chance = random.Random(seed)
    append_only = chance.choice(("no", "no", "yes"))
    story = Story(("--appendonly", append_only, "--save", chance.choice(("3600 100000", ""))))
    primaries = [0, 0, 0]  # whom each node follows; itself: a primary
    story.steps += [
        _writes(chance, 0),
        Step("follow", 1, 0),
        Step("follow", 2, chance.choice((0, 1))),
    ]
    primaries[1], primaries[2] = 0, story.steps[-1].other
    story.steps.append(_lag(chance, 0, 1))
    while len(story.steps) < length:
        story.steps.append(_next(chance, primaries))
    return story


def _next(chance: random.Random, primaries: list[int]) -> Step:
    top = next(node for node in range(NODES) if primaries[node] == node)
    kind = chance.choices(
        ("write", "expire", "restart", "lag", "save", "rewrite", "promote", "follow", "failover"),
        (3, 2, 6, 4, 1, 1, 1, 1, 1),
    )[0]
    if kind == "write":
        return _writes(chance, top)
    if kind == "expire":
        return Step("expire", top, how=str(chance.choice((3, 40, 2500))))
    if kind == "save":
        return Step(kind, chance.randrange(NODES), how=chance.choice(("SAVE", "!SAVE", "!BGSAVE")))
    if kind == "rewrite":
        return Step(kind, chance.randrange(NODES))
    if kind == "restart":
        return Step("restart", chance.randrange(NODES), how=chance.choice(ENDS))
    replicas = [node for node in range(NODES) if node != top]
    chosen = chance.choice(replicas)
    if kind == "follow":
        (last,) = (node for node in replicas if node != chosen)
        primaries[chosen] = top if primaries[last] == chosen else chance.choice((top, last))
        return Step("follow", chosen, primaries[chosen])
    if kind in ("failover", "lag"):
        chosen = chance.choice([node for node in replicas if primaries[node] == top])
    if kind == "lag":
        return _lag(chance, top, chosen)
    # The others follow the new primary, each directly.
    for node in range(NODES):
        primaries[node] = chosen
    return Step(kind, chosen, top)


def _lag(chance: random.Random, node: int, replica: int) -> Step:
    requests = chance.choices(LAG_REQUESTS, k=chance.randint(2, 6))
    asked = tuple((0, words) for words in requests)
    by = chance.choice(LAGS)
    # If the link breaks during its CLIENT PAUSE, a Redis does not ask to resume (a Rillway does).
    hows = [how for how in LAG_ENDS if by == "SIGSTOP" or "NOW" not in how]
    return Step("lag", node, replica, chance.choice(hows), by, asked)


def _writes(chance: random.Random, node: int) -> Step:
    return Step("write", node, commands=tuple(_write(chance) for _ in range(chance.randint(3, 12))))


def _write(chance: random.Random) -> tuple[int, tuple[str, ...]]:
    key, number = f"k{chance.randrange(6)}", str(chance.randrange(1000))
    command = chance.choice(
        (
            ("SET", key, number),
            ("SET", key, number, "PX", "100000000"),
            ("DEL", key),
            ("RPUSH", f"l{key}", number),
            ("HSET", f"h{key}", key, number),
            ("SADD", f"s{key}", number),
            ("ZADD", f"z{key}", number, key),
            ("XADD", f"x{key}", "*", key, number),
            ("EVAL", "redis.call('incr', 'n') return redis.call('append', 'a', ARGV[1])", "0", key),
        )
    )
    return chance.choice((0, 0, 3)), command
