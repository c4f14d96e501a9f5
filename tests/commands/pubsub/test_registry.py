"""Subscriptions, and the delivery of messages."""

from __future__ import annotations

import pytest

from commands.core.gates import GATE_SUBSCRIBED
from commands.keys.pattern import matches
from commands.pubsub.registry import PubSub
from server.inprocess.server import InProcessClient, InProcessServer


def subscriber(server: InProcessServer, *words: str, protocol: int = 2) -> InProcessClient:
    client = server.connect()
    client.execute("HELLO", protocol)
    client.execute(*words)
    return client


def test_a_message_is_an_array_in_resp2_and_a_push_in_resp3(server: InProcessServer) -> None:
    old = subscriber(server, "SUBSCRIBE", "ch", protocol=2)
    new = subscriber(server, "SUBSCRIBE", "ch", protocol=3)
    assert server.instance.feature(PubSub).publish(b"ch", b"m\r\n\x00") == 2
    server.cycle.finish()
    body = b"$7\r\nmessage\r\n$2\r\nch\r\n$4\r\nm\r\n\x00\r\n"
    assert old.received() == b"*3\r\n" + body
    assert new.received() == b">3\r\n" + body


def test_a_message_is_encoded_once_for_all_receivers(server: InProcessServer) -> None:
    clients = [subscriber(server, "SUBSCRIBE", "ch") for _ in range(3)]
    server.instance.feature(PubSub).publish(b"ch", b"m")
    first, *others = [client.state.output[0] for client in clients]
    assert all(other is first for other in others)


def test_a_pattern_gets_the_channel_and_itself(server: InProcessServer) -> None:
    client = subscriber(server, "PSUBSCRIBE", "news.*", protocol=3)
    assert server.instance.feature(PubSub).publish(b"news.art", b"m") == 1
    assert server.instance.feature(PubSub).publish(b"weather", b"m") == 0
    server.cycle.finish()
    assert client.received() == (
        b">4\r\n$8\r\npmessage\r\n$6\r\nnews.*\r\n$8\r\nnews.art\r\n$1\r\nm\r\n"
    )


def test_a_pattern_is_for_the_others_when_one_of_its_clients_leaves(
    server: InProcessServer,
) -> None:
    first, second = (subscriber(server, "PSUBSCRIBE", "news.*") for _ in range(2))
    first.execute("PUNSUBSCRIBE", "news.*")
    assert server.instance.feature(PubSub).publish(b"news.art", b"m") == 1
    server.cycle.finish()
    assert b"news.art" in second.received()


def test_every_subscription_that_matches_gets_its_own_message(server: InProcessServer) -> None:
    client = subscriber(server, "PSUBSCRIBE", "c*", "*h")
    client.execute("SUBSCRIBE", "ch")
    assert server.instance.feature(PubSub).publish(b"ch", b"m") == 3
    server.cycle.finish()
    assert client.received() == (
        b"*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$1\r\nm\r\n"
        b"*4\r\n$8\r\npmessage\r\n$2\r\nc*\r\n$2\r\nch\r\n$1\r\nm\r\n"
        b"*4\r\n$8\r\npmessage\r\n$2\r\n*h\r\n$2\r\nch\r\n$1\r\nm\r\n"
    )


def test_more_patterns_than_a_cache_would_hold_still_match(server: InProcessServer) -> None:
    client = subscriber(server, "PSUBSCRIBE", *[f"p{number}.*" for number in range(600)])
    assert server.instance.feature(PubSub).publish(b"p599.x", b"m") == 1
    client.execute("PUNSUBSCRIBE")
    assert server.instance.feature(PubSub).publish(b"p599.x", b"m") == 0


@pytest.mark.parametrize(
    ("shape", "channel"),
    [
        ("p{}.*", "p17.x"),
        ("*.p{}", "x.p17"),
        ("*.p{}.*", "a.p17.b"),
        ("?.[p]*.common.{}", "x.p.common.17"),
        ("*.common.*[{}]", "a.common.b1"),
        ("p{}", "p17"),
        ("*{}", "p17"),
        ("{}*", ""),
    ],
)
def test_many_patterns_match_what_each_alone_would(
    server: InProcessServer, shape: str, channel: str
) -> None:
    patterns = [shape.format(number) for number in range(600)]
    client = subscriber(server, "PSUBSCRIBE", *patterns, *patterns)
    pubsub = server.instance.feature(PubSub)
    fitting = {pattern for pattern in patterns if matches(pattern.encode(), channel.encode())}
    assert pubsub.publish(channel.encode(), b"m") == len(fitting)
    for pattern in patterns[100:]:
        client.execute("PUNSUBSCRIBE", pattern)
    left = [pattern for pattern in patterns[:100] if pattern in fitting]
    assert pubsub.publish(channel.encode(), b"m") == len(left)
    client.execute("PUNSUBSCRIBE")
    assert pubsub.publish(channel.encode(), b"m") == 0


def test_shard_channels_are_a_world_of_their_own(server: InProcessServer) -> None:
    shard = subscriber(server, "SSUBSCRIBE", "ch")
    subscriber(server, "SUBSCRIBE", "ch")
    subscriber(server, "PSUBSCRIBE", "*")
    assert server.instance.feature(PubSub).publish_to_shard(b"ch", b"m") == 1
    assert server.instance.feature(PubSub).publish(b"ch", b"m") == 2
    server.cycle.finish()
    assert shard.received() == b"*3\r\n$8\r\nsmessage\r\n$2\r\nch\r\n$1\r\nm\r\n"


def test_a_message_without_receivers_goes_nowhere(server: InProcessServer) -> None:
    assert server.instance.feature(PubSub).publish(b"ch", b"m") == 0
    assert server.instance.feature(PubSub).publish_to_shard(b"ch", b"m") == 0


def test_forget_ends_every_subscription_silently(server: InProcessServer) -> None:
    client = subscriber(server, "SUBSCRIBE", "a", "b")
    client.execute("PSUBSCRIBE", "p*")
    client.execute("SSUBSCRIBE", "s")
    pubsub = server.instance.feature(PubSub)
    pubsub.forget(client.state)
    assert (len(pubsub.channels), len(pubsub.patterns), len(pubsub.shard_channels)) == (0, 0, 0)
    assert not client.state.gates & GATE_SUBSCRIBED
    server.cycle.finish()
    assert client.received() == b""


def test_a_client_that_leaves_is_no_receiver(server: InProcessServer) -> None:
    client = subscriber(server, "SUBSCRIBE", "ch")
    client.disconnect()
    assert server.instance.feature(PubSub).publish(b"ch", b"m") == 0


def test_only_a_resp2_client_with_subscriptions_is_restricted(server: InProcessServer) -> None:
    old = subscriber(server, "SSUBSCRIBE", "ch", protocol=2)
    new = subscriber(server, "SSUBSCRIBE", "ch", protocol=3)
    assert old.state.gates & GATE_SUBSCRIBED
    assert not new.state.gates & GATE_SUBSCRIBED
    old.execute("SUNSUBSCRIBE")
    assert not old.state.gates & GATE_SUBSCRIBED


def test_keyspace_events_reach_subscribers(server: InProcessServer) -> None:
    quiet = subscriber(server, "PSUBSCRIBE", "__key*")
    server.connect().execute("SET", "k", "v")
    assert quiet.received() == b""
    server = InProcessServer(notify_keyspace_events="KEA")
    client = subscriber(server, "PSUBSCRIBE", "__key*")
    server.connect().execute("XADD", "s", "1-1", "f", "v")
    received = client.received()
    assert b"$16\r\n__keyspace@0__:s\r\n$4\r\nxadd\r\n" in received
    assert b"$19\r\n__keyevent@0__:xadd\r\n$1\r\ns\r\n" in received


def test_channels_of_slots_that_leave_are_unsubscribed(server: InProcessServer) -> None:
    """`a` is in slot 15495, `b` in 3300."""
    old = subscriber(server, "SSUBSCRIBE", "a", "b", protocol=2)
    new = subscriber(server, "SSUBSCRIBE", "b", protocol=3)
    server.instance.feature(PubSub).leave_slots(1 << 3300)
    server.cycle.finish()
    body = b"$12\r\nsunsubscribe\r\n$1\r\nb\r\n"
    assert old.received() == b"*3\r\n" + body + b":1\r\n"
    assert new.received() == b">3\r\n" + body + b":0\r\n"
    assert server.instance.feature(PubSub).publish_to_shard(b"b", b"m") == 0
    assert old.state.gates & GATE_SUBSCRIBED
    server.instance.feature(PubSub).leave_slots(1 << 15495)
    assert not old.state.gates & GATE_SUBSCRIBED
