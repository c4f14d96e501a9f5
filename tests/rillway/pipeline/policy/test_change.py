"""Policies as values, and how changes become requests."""

from __future__ import annotations

from typing import Any

import pytest

from rillway.pipeline.policy.change import (
    BOTH,
    NoPolicies,
    Policies,
    change_policies,
    read_policies,
)
from rillway.pipeline.policy.settings import OFF, Value
from rillway.pipeline.wire.connection import ServerError


class Server:
    """Notes requests. Answers XINFO POLICY."""

    def __init__(self, policy: list[Any] | Exception) -> None:
        self.policy = policy
        self.requests: list[tuple[Any, ...]] = []

    def call(self, *words: Any) -> Any:
        self.requests.append(words)
        if words[0] != "XINFO":
            return "OK"
        if isinstance(self.policy, Exception):
            raise self.policy
        return self.policy


def requests(group: str | None, stream: dict[str, Value], of_group: dict[str, Value]) -> list[Any]:
    server: Any = Server([b"ack-wait", 5])
    before = Policies({}, {"ack-wait": 5})
    change_policies(server, "s", group, before, stream, of_group)
    return list(server.requests)


def test_only_what_is_named_is_sent() -> None:
    assert requests(None, {"retain-ms": 5, "retain-acked": OFF}, {}) == [
        ("XCFGSET", "s", "RETAIN-MS", "5", "RETAIN-ACKED", "no")
    ]
    assert requests("g", {}, {"backoff": (1, 2), "dead-letter": OFF}) == [
        ("XGROUP", "CONFIG", "s", "g", "BACKOFF", "1", "2", "DEAD-LETTER", "")
    ]
    assert requests("g", {}, {}) == []


def test_both_are_one_script_that_knows_the_way_back() -> None:
    [*_, script] = requests("g", {"retain-len": 3}, {"ack-wait": 9, "dead-letter": "d"})
    assert script[:5] == ("EVAL", BOTH, 2, "s", "d")
    assert script[5:] == (
        *("g", 4, 4, 2, "ACK-WAIT", "9", "DEAD-LETTER", "d"),
        *("ACK-WAIT", "5", "DEAD-LETTER", "", "RETAIN-LEN", "3"),
    )


def test_what_is_off_goes_from_changed_policies() -> None:
    before = Policies({"retain-ms": 5}, {"ack-wait": 5})
    assert before.changed({"retain-ms": OFF}, {"max-pending": 3}) == Policies(
        {}, {"ack-wait": 5, "max-pending": 3}
    )


def test_a_server_without_policies_is_told_from_a_refusal() -> None:
    server: Any = Server(ServerError("ERR unknown subcommand 'POLICY'. Try XINFO HELP."))
    with pytest.raises(NoPolicies):
        read_policies(server, "s", None)
    server = Server(ServerError("MOVED 1 127.0.0.1:7000"))
    with pytest.raises(ServerError):
        read_policies(server, "s", None)
