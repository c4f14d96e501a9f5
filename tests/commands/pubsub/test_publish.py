"""PUBLISH, SPUBLISH, PUBSUB."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessClient, InProcessServer


@pytest.fixture
def client() -> InProcessClient:
    return InProcessServer().connect()


@pytest.fixture
def subscriber(client: InProcessClient) -> InProcessClient:
    """Subscribed to s1 and s2 in every way, with a pattern for the first."""
    other = client.server.connect()
    other.execute("SUBSCRIBE", "s1", "s2")
    other.execute("PSUBSCRIBE", "s1*")
    other.execute("SSUBSCRIBE", "s1", "s2")
    return other


def test_publish_answers_how_many_received_it(
    client: InProcessClient, subscriber: InProcessClient
) -> None:
    assert client.execute("PUBLISH", "s1", "m") == b":2\r\n"
    assert client.execute("PUBLISH", "s2", "m") == b":1\r\n"
    assert client.execute("PUBLISH", "s3", "m") == b":0\r\n"
    assert client.execute("SPUBLISH", "s2", "m") == b":1\r\n"
    assert client.execute("SPUBLISH", "s3", "m") == b":0\r\n"


def test_a_message_to_oneself_follows_the_reply(client: InProcessClient) -> None:
    client.execute("HELLO", 3)
    client.execute("SUBSCRIBE", "x")
    push = b">3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$%d\r\n%b\r\n"
    assert client.pipeline(("PUBLISH", "x", "one"), ("PING",), ("PUBLISH", "x", "two")) == (
        b":1\r\n" + push % (3, b"one") + b"+PONG\r\n" + b":1\r\n" + push % (3, b"two")
    )


def test_messages_arrive_in_the_order_in_which_they_were_published(
    client: InProcessClient, subscriber: InProcessClient
) -> None:
    client.pipeline(*[("PUBLISH", "s2", str(number)) for number in range(5)])
    received = subscriber.received().split(b"*3\r\n")[1:]
    assert [text[-3:-2] for text in received] == [b"0", b"1", b"2", b"3", b"4"]


def test_publish_is_not_a_change_of_the_data_set(client: InProcessClient) -> None:
    client.execute("PUBLISH", "s1", "m")
    assert client.server.instance.dirty == 0
    assert client.server.propagated == []


@pytest.mark.parametrize("words", [("PUBLISH",), ("PUBLISH", "a"), ("SPUBLISH", "a")])
def test_publish_needs_a_channel_and_a_message(
    client: InProcessClient, words: tuple[str, ...]
) -> None:
    name = words[0].lower()
    error = f"-ERR wrong number of arguments for '{name}' command\r\n".encode()
    assert client.execute(*words) == error


# -- PUBSUB --------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["CHANNELS", "SHARDCHANNELS"])
def test_channels_lists_those_that_have_subscribers(
    client: InProcessClient, subscriber: InProcessClient, command: str
) -> None:
    assert client.execute("PUBSUB", command) == b"*2\r\n$2\r\ns1\r\n$2\r\ns2\r\n"
    assert client.execute("PUBSUB", command, "*2") == b"*1\r\n$2\r\ns2\r\n"
    assert client.execute("PUBSUB", command, "x") == b"*0\r\n"
    subscriber.disconnect()
    assert client.execute("PUBSUB", command) == b"*0\r\n"


@pytest.mark.parametrize("command", ["CHANNELS", "SHARDCHANNELS"])
def test_channels_takes_one_pattern(client: InProcessClient, command: str) -> None:
    assert client.execute("PUBSUB", command, "a", "b") == (
        b"-ERR unknown subcommand or wrong number of arguments for '%b'. Try PUBSUB HELP.\r\n"
        % command.encode()
    )


@pytest.mark.parametrize("command", ["NUMSUB", "SHARDNUMSUB"])
@pytest.mark.parametrize("protocol", [2, 3])
def test_numsub_answers_names_and_numbers_in_turn(
    client: InProcessClient, subscriber: InProcessClient, command: str, protocol: int
) -> None:
    client.execute("HELLO", protocol)
    assert client.execute("PUBSUB", command, "s1", "zz", "s1") == (
        b"*6\r\n$2\r\ns1\r\n:1\r\n$2\r\nzz\r\n:0\r\n$2\r\ns1\r\n:1\r\n"
    )
    assert client.execute("PUBSUB", command) == b"*0\r\n"


def test_numpat_counts_patterns_not_subscribers(
    client: InProcessClient, subscriber: InProcessClient
) -> None:
    client.server.connect().execute("PSUBSCRIBE", "s1*", "other*")
    assert client.execute("PUBSUB", "NUMPAT") == b":2\r\n"
    assert client.execute("PUBSUB", "NUMPAT", "x") == (
        b"-ERR wrong number of arguments for 'pubsub|numpat' command\r\n"
    )


def test_pubsub_is_its_subcommands(client: InProcessClient) -> None:
    assert client.execute("PUBSUB") == b"-ERR wrong number of arguments for 'pubsub' command\r\n"
    assert client.execute("PUBSUB", "NOPE") == (
        b"-ERR unknown subcommand 'NOPE'. Try PUBSUB HELP.\r\n"
    )


def test_help_names_every_subcommand(client: InProcessClient) -> None:
    from commands.core.registry import COMMANDS

    text = client.execute("PUBSUB", "HELP")
    assert b"\r\n+PUBSUB <subcommand> [<arg> [value] [opt] ...]. Subcommands are:\r\n" in text
    assert text.endswith(b"+HELP\r\n+    Print this help.\r\n")
    for name in COMMANDS[b"pubsub"].subcommands:
        assert b"\r\n+%b" % name.upper() in text, name
