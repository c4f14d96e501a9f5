"""SUBSCRIBE, PSUBSCRIBE, SSUBSCRIBE and their opposites."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessClient, InProcessServer


@pytest.fixture
def client() -> InProcessClient:
    return InProcessServer().connect()


def message(head: str, word: str, name: str | None, count: int, null: bytes = b"$-1\r\n") -> bytes:
    shown = null if name is None else f"${len(name)}\r\n{name}\r\n".encode()
    return f"{head}3\r\n${len(word)}\r\n{word}\r\n".encode() + shown + b":%d\r\n" % count


def test_subscribe_answers_a_message_for_each_name(client: InProcessClient) -> None:
    assert client.execute("SUBSCRIBE", "x", "y", "x") == (
        message("*", "subscribe", "x", 1)
        + message("*", "subscribe", "y", 2)
        + message("*", "subscribe", "x", 2)
    )


def test_channels_and_patterns_are_counted_together_shard_channels_apart(
    client: InProcessClient,
) -> None:
    client.execute("SUBSCRIBE", "x", "y")
    assert client.execute("PSUBSCRIBE", "p*") == message("*", "psubscribe", "p*", 3)
    assert client.execute("SSUBSCRIBE", "s") == message("*", "ssubscribe", "s", 1)
    assert client.execute("UNSUBSCRIBE", "x") == message("*", "unsubscribe", "x", 2)
    assert client.execute("PUNSUBSCRIBE", "p*") == message("*", "punsubscribe", "p*", 1)
    assert client.execute("SUNSUBSCRIBE", "s") == message("*", "sunsubscribe", "s", 0)


def test_in_resp3_the_messages_are_pushes(client: InProcessClient) -> None:
    client.execute("HELLO", 3)
    assert client.execute("SUBSCRIBE", "x") == message(">", "subscribe", "x", 1)
    assert client.execute("UNSUBSCRIBE") == message(">", "unsubscribe", "x", 0)
    assert client.execute("UNSUBSCRIBE") == message(">", "unsubscribe", None, 0, b"_\r\n")


@pytest.mark.parametrize("prefix", ["", "P", "S"])
def test_unsubscribe_without_names_ends_all_of_its_kind(
    client: InProcessClient, prefix: str
) -> None:
    word = prefix.lower() + "unsubscribe"
    client.execute(f"{prefix}SUBSCRIBE", "a", "b")
    assert client.execute(f"{prefix}UNSUBSCRIBE") == (
        message("*", word, "a", 1) + message("*", word, "b", 0)
    )


@pytest.mark.parametrize("prefix", ["", "P", "S"])
def test_unsubscribe_from_nothing_answers_a_null_name(client: InProcessClient, prefix: str) -> None:
    word = prefix.lower() + "unsubscribe"
    assert client.execute(f"{prefix}UNSUBSCRIBE") == message("*", word, None, 0)


def test_the_null_name_comes_with_the_count_of_what_is_left(client: InProcessClient) -> None:
    client.execute("PSUBSCRIBE", "p*")
    assert client.execute("UNSUBSCRIBE") == message("*", "unsubscribe", None, 1)


def test_unsubscribe_from_what_was_not_subscribed_is_answered_all_the_same(
    client: InProcessClient,
) -> None:
    assert client.execute("UNSUBSCRIBE", "nope") == message("*", "unsubscribe", "nope", 0)


@pytest.mark.parametrize("prefix", ["", "P", "S"])
def test_subscribe_needs_a_name(client: InProcessClient, prefix: str) -> None:
    name = prefix.lower() + "subscribe"
    error = f"-ERR wrong number of arguments for '{name}' command\r\n".encode()
    assert client.execute(f"{prefix}SUBSCRIBE") == error


@pytest.mark.parametrize("prefix", ["", "P", "S"])
def test_a_resp2_subscriber_may_send_few_commands(client: InProcessClient, prefix: str) -> None:
    client.execute(f"{prefix}SUBSCRIBE", "a")
    for request in (("GET", "k"), ("MULTI",), ("HELLO", "3"), ("PUBLISH", "a", "m")):
        assert client.execute(*request) == (
            b"-ERR Can't execute '%b': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT /"
            b" RESET are allowed in this context\r\n" % request[0].lower().encode()
        )
    assert client.execute("CLIENT", "ID").startswith(b"-ERR Can't execute 'client|id': only ")
    assert client.execute("PSUBSCRIBE", "b").startswith(b"*3\r\n$10\r\npsubscribe\r\n")
    client.execute("PUNSUBSCRIBE")
    client.execute(f"{prefix}UNSUBSCRIBE")
    assert client.execute("GET", "k") == b"$-1\r\n"


def test_the_gate_opens_within_one_batch(client: InProcessClient) -> None:
    received = client.pipeline(("SUBSCRIBE", "x"), ("UNSUBSCRIBE",), ("PING",))
    assert received.endswith(b":0\r\n+PONG\r\n")


@pytest.mark.parametrize(("protocol", "head"), [(2, "*"), (3, ">")])
def test_reply_off_does_not_hold_back_subscriptions_and_messages(
    client: InProcessClient, protocol: int, head: str
) -> None:
    client.execute("HELLO", protocol)
    client.execute("CLIENT", "REPLY", "OFF")
    assert client.execute("SUBSCRIBE", "x") == message(head, "subscribe", "x", 1)
    client.server.connect().execute("PUBLISH", "x", "m")
    assert client.received() == f"{head}3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$1\r\nm\r\n".encode()
    assert client.execute("PING") == b""
    assert client.execute("UNSUBSCRIBE", "x") == message(head, "unsubscribe", "x", 0)


def test_reply_skip_is_used_up_by_a_subscription(client: InProcessClient) -> None:
    client.execute("HELLO", 3)
    client.execute("CLIENT", "REPLY", "SKIP")
    assert client.execute("SUBSCRIBE", "x") == message(">", "subscribe", "x", 1)
    assert client.execute("PING") == b"+PONG\r\n"


def test_ssubscribe_is_refused_inside_a_transaction(client: InProcessClient) -> None:
    client.pipeline(("MULTI",), ("SSUBSCRIBE", "s"))
    assert client.execute("EXEC") == (
        b"*1\r\n-ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client\r\n"
    )
    assert client.execute("SSUBSCRIBE", "s") == message("*", "ssubscribe", "s", 1)


def test_shard_channels_are_declared_as_keys() -> None:
    from commands.core.registry import COMMANDS

    request = [b"SSUBSCRIBE", b"a", b"b"]
    assert COMMANDS[b"ssubscribe"].key_positions(request) == [1, 2]
    assert COMMANDS[b"subscribe"].key_positions(request) == []
