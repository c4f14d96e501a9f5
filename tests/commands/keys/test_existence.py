"""commands/keys/existence.py: look-up without side effects.

DEL, UNLINK, EXISTS, TOUCH, TYPE.

EXPIRE and its kin, TTL and its kin, PERSIST.
"""

from __future__ import annotations

import pytest

from commands.keys.existence import find, parse_database, peek
from protocol.errors import ReplyError
from tests.commands.keys.conversation import Conversation


def test_finding_removes_what_has_expired_in_any_database(talk: Conversation) -> None:
    talk.all("SELECT 3", "SET k v PX 10")
    talk.server.instance.now_ms += 11
    db = talk.server.instance.databases[3]
    assert find(talk.client.state, db, b"k") is None
    assert len(db) == 0
    assert talk.propagated() == ["DEL k"]


def test_what_is_repeated_finds_keys_whose_time_is_past_by_now(talk: Conversation) -> None:
    talk.all("SET k v PX 10")
    talk.server.instance.now_ms += 11
    talk.client.state.replays = True
    assert find(talk.client.state, talk.client.state.db, b"k") is not None
    talk.all("RENAME k l", "COPY l m", "GETEX m PXAT 5", "PEXPIREAT m 5")
    assert set(talk.client.state.db.values) == {b"l", b"m"}


def test_finding_counts_as_no_use(talk: Conversation) -> None:
    talk.all("SET k v")
    stats = talk.server.instance.stats
    before = (stats.keyspace_hits, stats.keyspace_misses)
    db = talk.client.state.db
    assert find(talk.client.state, db, b"k") is not None
    assert find(talk.client.state, db, b"none") is None
    assert (stats.keyspace_hits, stats.keyspace_misses) == before


def test_peeking_counts_hits_and_misses_and_leaves_the_access_time(talk: Conversation) -> None:
    talk.all("SET k v")
    stats = talk.server.instance.stats
    talk.server.instance.now_ms += 5000
    value = peek(talk.client.state, b"k")
    assert value is not None
    assert value.access_ms == talk.server.instance.now_ms - 5000
    assert peek(talk.client.state, b"none") is None
    assert (stats.keyspace_hits, stats.keyspace_misses) == (1, 1)


@pytest.mark.parametrize(
    ("word", "text"),
    [
        (b"x", b"ERR value is not an integer or out of range"),
        (b"16", b"ERR DB index is out of range"),
        (b"-1", b"ERR DB index is out of range"),
        (
            b"2147483648",
            b"ERR value is out of range, value must between -2147483648 and 2147483647",
        ),
    ],
)
def test_a_database_that_is_not_there_is_refused(
    talk: Conversation, word: bytes, text: bytes
) -> None:
    assert parse_database(talk.client.state, b"15").index == 15
    with pytest.raises(ReplyError) as refused:
        parse_database(talk.client.state, word)
    assert refused.value.text == text


def test_touch_counts_what_exists_and_ignores_no_touch(talk: Conversation) -> None:
    talk.all("SET k v")
    talk.client.state.no_touch = True
    talk.server.now_ms += 7000
    assert talk.do("TOUCH k none k") == b":2\r\n"
    assert talk.do("OBJECT IDLETIME k") == b":0\r\n"


@pytest.mark.parametrize(("left_ms", "seconds"), [(1499, 1), (1500, 2), (499, 0), (0, 0)])
def test_seconds_are_rounded(talk: Conversation, left_ms: int, seconds: int) -> None:
    talk.all("SET k v PX 2000")
    talk.server.now_ms += 2000 - left_ms
    assert talk.do("TTL k") == b":%d\r\n" % seconds
    assert talk.do("PTTL k") == b":%d\r\n" % left_ms
