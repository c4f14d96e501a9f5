"""SUBSCRIBE, PSUBSCRIBE, SSUBSCRIBE and their opposites.

PUBLISH, SPUBLISH, PUBSUB.
"""

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
