"""A group's policy, as a consumer reads it."""

from __future__ import annotations

from typing import Any

import redis

from rillway.consumer.policy import Policy, policy_of


class Answer:
    """Nodes with one answer to everything."""

    def __init__(self, reply: Any) -> None:
        self.reply = reply

    async def execute(self, key: str, *words: Any) -> Any:
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply


async def policy(reply: Any) -> Policy:
    nodes: Any = Answer(reply)
    return await policy_of(nodes, "s", "g")


async def test_a_policy_is_what_the_server_says() -> None:
    reply = [b"ack-wait", 30_000, b"max-deliveries", 5, b"dead-letter", b"s:dead", b"due", 2]
    found = await policy(reply)
    assert found == Policy(30_000, 5, "s:dead")
    assert found.redelivers


async def test_a_group_without_one_and_other_servers_have_none() -> None:
    unknown = redis.ResponseError("unknown subcommand 'POLICY'. Try XINFO HELP.")
    for reply in ([], [b"ack-wait", 0, b"dead-letter", b""], unknown):
        found = await policy(reply)
        assert found == Policy()
        assert not found.redelivers
