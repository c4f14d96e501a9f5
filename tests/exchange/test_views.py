"""The views by which servers are compared show every change that matters."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from server.inprocess.server import InProcessServer
from tests.commands.streams.talk import decode
from tests.crash.observation import Ask
from tests.exchange.data_set import dangling, everything
from tests.exchange.views import differences, view


def filled(*more: str) -> Ask:
    """A server with the data set, and what was done to it then."""
    client = InProcessServer().connect()
    client.server.now_ms += 1000

    def ask(*words: Any) -> Any:
        return decode(client.execute(*words))

    for db, argv in [*everything(), *dangling()]:
        client.execute("SELECT", db)
        assert not isinstance(ask(*argv), Exception), argv
    client.execute("SELECT", 0)
    client.server.now_ms += 1000
    for request in more:
        assert not isinstance(ask(*request.split()), Exception), request
    return ask


@cache
def unchanged() -> Any:
    return view(filled(), modern=True)


def test_equal_data_are_equal() -> None:
    assert differences(unchanged(), view(filled(), modern=True)) == []


@pytest.mark.parametrize(
    "change",
    [
        "SET text lamq",
        "APPEND random x",
        "DEL nothing",
        "PERSIST later",
        "PEXPIREAT groups 4102444800001",
        "XADD nodes * a b",
        "XDEL nodes 190-1",
        "XDEL shapes 3-0",
        "XTRIM groups MAXLEN 129",
        "XSETID state 9-10",
        "XSETID state 9-9 ENTRIESADDED 41 MAXDELETEDID 3-3",
        "XSETID state 9-9 ENTRIESADDED 40 MAXDELETEDID 3-4",
        "XACK groups all 4-1",
        "XACK dangling g 2-1",
        "XCLAIM groups all carol 0 3-1 RETRYCOUNT 300",
        "XCLAIM groups all carol 0 3-1 JUSTID RETRYCOUNT 301 TIME 1700000001000",
        "XGROUP CREATECONSUMER groups all new",
        "XGROUP DELCONSUMER groups all idle",
        "XGROUP DESTROY groups end",
        "XGROUP CREATE empty g $",
        "XGROUP SETID groups end 129-1",
        "XGROUP SETID groups known 23-1 ENTRIESREAD 24",
        "XNACK groups all SILENT IDS 1 4-1",
        "XADD state IDMP p 1 * a b",
    ],
)
def test_a_change_is_seen(change: str) -> None:
    assert differences(unchanged(), view(filled(change), modern=True)) != []
