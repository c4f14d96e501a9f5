"""Streams and groups by name."""

from __future__ import annotations

import pytest

from commands.core.client import Client
from commands.streams.lookup import find_group, group_of
from protocol.errors import WRONG_TYPE, ReplyError
from tests.commands.streams.talk import Talk


@pytest.fixture
def state(client: Talk) -> Client:
    client.all("XGROUP CREATE s g 5-5 MKSTREAM", "SET string v")
    return client.client.state


def test_a_group_is_found_with_its_stream(state: Client) -> None:
    stream, group = find_group(state, b"s", b"g")
    assert stream.groups == {b"g": group}
    assert group_of(stream, b"s", b"g") is group


@pytest.mark.parametrize(("key", "name"), [(b"missing", b"g"), (b"s", b"nobody")])
def test_a_missing_key_and_a_missing_group_are_one_error(
    state: Client, key: bytes, name: bytes
) -> None:
    with pytest.raises(ReplyError) as refusal:
        find_group(state, key, name)
    assert refusal.value.text == b"NOGROUP No such key '%b' or consumer group '%b'" % (key, name)


def test_another_type_is_an_error_of_its_own(state: Client) -> None:
    with pytest.raises(ReplyError) as refusal:
        find_group(state, b"string", b"g")
    assert refusal.value.text == WRONG_TYPE


def test_of_a_stream_that_is_there_the_error_names_the_group_first(state: Client) -> None:
    stream, _ = find_group(state, b"s", b"g")
    with pytest.raises(ReplyError) as refusal:
        group_of(stream, b"s", b"nobody")
    assert refusal.value.text == b"NOGROUP No such consumer group 'nobody' for key name 's'"


def test_names_are_quoted_up_to_their_first_nul(state: Client) -> None:
    with pytest.raises(ReplyError) as refusal:
        find_group(state, b"k\0ey", b"gro\0up")
    assert refusal.value.text == b"NOGROUP No such key 'k' or consumer group 'gro'"
