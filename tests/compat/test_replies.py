"""The scripts of replies, played beside a real Redis: it answers and announces the same."""

from __future__ import annotations

from collections import defaultdict
from contextlib import ExitStack

import pytest

from tests.compat import differences
from tests.compat.comparison import QUEUED, Argv, first_mismatch
from tests.golden.replies import FOLDER, Section, play, sections
from tests.support.programs.redis_cli import split_line
from tests.support.programs.servers import RunningServer
from tests.support.resp import Reply, RespClient, parse

pytestmark = pytest.mark.compat

COMPARED = (8, 2)  # the version of the Redis here
CASES = [
    pytest.param(section, id=f"{path.stem}: {section.title}")
    for path in sorted(FOLDER.glob("*.txt"))
    for section in sections(path.read_text())
    if not section.is_alone and section.since <= COMPARED
]


@pytest.mark.parametrize("section", CASES)
def test_redis_answers_the_same(section: Section, redis_server: RunningServer) -> None:
    commands: list[Argv] = []
    ours: list[Reply] = []
    theirs: list[Reply] = []
    with ExitStack() as stack:

        def connect() -> RespClient:
            return stack.enter_context(redis_server.connect())

        admin, subscriber, clients = connect(), connect(), defaultdict[str, RespClient](connect)
        stack.callback(admin.send, "CONFIG", "SET", "notify-keyspace-events", "")
        admin.send("FLUSHALL")
        admin.send("CONFIG", "SET", "notify-keyspace-events", "AEnm")
        subscriber.send("PSUBSCRIBE", "__keyevent@*")
        for step, reply in play(section):
            argv = split_line(step.line)
            answer = clients[step.client].send(*argv)
            seen = ", ".join(events_of(subscriber)) or "-"
            assert step.events in (None, seen), f"{step.line}: {seen}"
            if step.expected is not None or answer == QUEUED:
                commands.append(argv)
                ours.append(parse(reply))
                theirs.append(parse(answer))
            else:
                assert not answer.startswith(b"-"), f"{step.line}: {answer!r}"
    mismatch = first_mismatch(commands, ours, theirs, differences.adjust)
    assert mismatch is None, f"{mismatch.exchange.argv}: {mismatch.place()}"


def events_of(subscriber: RespClient) -> list[str]:
    """What has been announced so far, each as `event key`."""
    subscriber.write("PING")
    events: list[str] = []
    while True:
        words = [item.text.decode() for item in parse(subscriber.read_reply()).items]
        if words[0] == "pong":
            return events
        events.append(f"{words[2].partition(':')[2]} {words[3]}")
