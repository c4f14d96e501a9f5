"""Scripts of requests and their replies; a section is a case, and starts on an empty server.

    # A member moves                            its title
    @since 8.4                                  Redis answers like this from that version on
    @alone                                      not played beside Redis
    SADD set a b ; SET text x                   requests that must succeed, as typed into redis-cli
    SCARD set => :2 ; SCARD other => :0         requests with their replies
    SMOVE set other a => :1 | srem set, new other, sadd other | =
    SMOVE set other x => :0 | - | -
    b: BLPOP list 0 => waits                    a request of another client, which waits
    b receives ["list" "x"]                     what has reached it since, or `nothing`
    @clock +11                                  the clock moves by ms
    @wait 11                                    and timers run

A reply is written as in RESP: `+OK`, `-ERR text`, `:1`, `,1.5`, `#t`, `_`, but `"text"` for a bulk
string, `nil` and `nil-array` for the nulls of RESP2, and `["a" :1]`, `~[...]`, `%[...]`, `>[...]`
for an array, a set, a map, a push; frequent errors have short names.

After the reply there may be the keyspace events of the request and what it propagates to files and
replicas (`=`: the request as it is); `-` is nothing, which is also what a refused request changes.
What is propagated is not seen beside Redis, and a section that moves the clock, blocks a client or
sets a directive is played in process only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.commands.keys.conversation import Conversation, Speaker
from tests.support.programs.redis_cli import quoted, split_line
from tests.support.resp import Reply, parse

FOLDER = Path(__file__).parent / "replies"
NULLS = {b"$-1\r\n": "nil", b"*-1\r\n": "nil-array"}
SHORT = {
    "-ERR syntax error": "-SYNTAX",
    "-ERR value is not an integer or out of range": "-NOT-AN-INTEGER",
    "-ERR value is not a valid float": "-NOT-A-FLOAT",
    "-WRONGTYPE Operation against a key holding the wrong kind of value": "-WRONGTYPE",
}
BY_CLIENT = re.compile(r"([a-z]): (.*)")


@dataclass
class Step:
    """A line of a script. `expected`: the reply, None for a request that must only succeed."""

    client: str
    line: str
    expected: str | None = None
    events: str | None = None
    propagated: str | None = None


@dataclass
class Section:
    """A case of a script."""

    title: str
    since: tuple[int, ...] = ()
    is_alone: bool = False
    steps: list[Step] = field(default_factory=list)


def sections(text: str) -> Iterator[Section]:
    """The sections of a script."""
    for part in re.split(r"^# ", text, flags=re.MULTILINE)[1:]:
        title, *lines = part.splitlines()
        section = Section(title)
        for line in filter(None, lines):
            _read(section, line)
        yield section


def _read(section: Section, line: str) -> None:
    word, _, rest = line.strip().partition(" ")
    if word == "@alone":
        section.is_alone = True
    elif word == "@since":
        section.since = tuple(map(int, rest.split(".")))
    elif word in ("@clock", "@wait"):
        section.is_alone = True
        section.steps.append(_step(word, rest))
    elif rest.startswith("receives "):
        section.is_alone = True
        reply = rest.removeprefix("receives ").replace("nothing", "waits")
        section.steps.append(_step(word, f" => {reply}"))
    else:
        by = BY_CLIENT.fullmatch(line)
        client, line = by.groups() if by else ("", line)
        steps = [_step(client, one) for one in ([line] if " | " in line else line.split(" ; "))]
        section.steps += steps
        section.is_alone |= any(step.expected == "waits" for step in steps)
        section.is_alone |= any(step.line.startswith("CONFIG ") for step in steps)


def _step(client: str, text: str) -> Step:
    text, *changes = text.split(" | ")
    request, arrow, reply = text.partition(" => ")
    step = Step(client, request, reply if arrow else None)
    if changes or reply.startswith("-"):
        step.events, step.propagated = changes or ("-", "-")
    return step


def shown(reply: bytes) -> str:
    """A reply, or several, as a script writes it."""
    return _shown(parse(reply)) if reply else "waits"


def _shown(reply: Reply) -> str:
    if reply.head in NULLS:
        return NULLS[reply.head]
    if reply.kind in b"$=!":
        return reply.kind.decode().replace("$", "") + quoted(reply.text)
    if reply.kind in b"*~%>|":
        kind = reply.kind.decode().replace("*", "")
        return f"{kind}[{' '.join(map(_shown, reply.items))}]"
    line = reply.head[:-2].decode()
    return SHORT.get(line, line)


def play(section: Section) -> list[tuple[Step, bytes]]:
    """Play a section in process; returns its requests with their replies."""
    talk = Conversation()
    clients: dict[str, Speaker] = {"": talk}
    replies = []
    for step in section.steps:
        if step.client == "@clock":
            talk.server.now_ms += int(step.line)
        elif step.client == "@wait":
            talk.server.advance(int(step.line))
        else:
            if step.client not in clients:
                clients[step.client] = talk.other()
            speaker = clients[step.client]
            argv = split_line(step.line)
            reply = speaker.client.execute(*argv) if argv else speaker.received()
            replies.append((step, reply))
            check(section, step, shown(reply))
        seen = ", ".join(talk.events()) or "-", " ; ".join(talk.propagated()) or "-"
        _check_changes(section, step, *seen)
    return replies


def check(section: Section, step: Step, reply: str) -> None:
    """Compare a reply with that of the script."""
    place = f"{section.title}: {step.client} {step.line}"
    if step.expected is None:
        assert not reply.startswith("-"), f"{place} => {reply}"
    else:
        assert reply == step.expected, place


def _check_changes(section: Section, step: Step, events: str, propagated: str) -> None:
    place = f"{section.title}: {step.line}"
    assert step.events in (None, events), f"{place}: {events}"
    propagated = "=" if propagated == step.line else propagated
    assert step.propagated in (None, propagated), f"{place}: {propagated}"
