"""FLUSHDB, FLUSHALL, SWAPDB.

RENAME, RENAMENX, COPY, MOVE.
"""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import Conversation, Speaker

NIL_ARRAY = b"*-1\r\n"


def exec_of(watcher: Speaker) -> bytes:
    """The reply of a transaction that does nothing else."""
    watcher.do("MULTI")
    return watcher.do("EXEC")


def watching(talk: Conversation, *keys: str) -> Speaker:
    watcher = talk.other()
    watcher.do(f"WATCH {' '.join(keys)}")
    return watcher


# -- FLUSHDB, FLUSHALL ---------------------------------------------------------------------------


@pytest.mark.parametrize("others", [0, 100])
@pytest.mark.parametrize("request_", ["FLUSHDB", "FLUSHALL"])
def test_flushing_fails_transactions_that_watch_a_key(
    talk: Conversation, request_: str, others: int
) -> None:
    talk.all("SET here 1")
    watching(talk, *(f"other{number}" for number in range(others)), "nowhere")
    watchers = [watching(talk, key) for key in ("here", "nowhere")]
    talk.all(request_)
    assert [exec_of(watcher) for watcher in watchers] == [NIL_ARRAY, b"*0\r\n"]


@pytest.mark.parametrize("request_", ["FLUSHDB", "FLUSHALL"])
def test_flushing_invalidates_client_side_caches(talk: Conversation, request_: str) -> None:
    cache = talk.other()
    cache.do("HELLO 3")
    cache.do("CLIENT TRACKING ON")
    cache.do("GET k")
    talk.all(request_)
    assert cache.received() == b">2\r\n$10\r\ninvalidate\r\n_\r\n"


# -- SWAPDB --------------------------------------------------------------------------------------


@pytest.mark.parametrize("others", [0, 100])
def test_swapping_fails_transactions_that_watch_a_key_of_either_side(
    talk: Conversation, others: int
) -> None:
    if others:  # then the keys that exist are fewer than those that are watched
        watching(talk, *(f"other{number}" for number in range(others)))
    talk.all("SET here 1", "SELECT 1", "SET there 1", "SELECT 0")
    outcomes = {}
    for key in ("here", "there", "nowhere"):
        watcher = watching(talk, key)
        talk.all("SWAPDB 0 1")
        outcomes[key] = exec_of(watcher)
        talk.all("SWAPDB 0 1")
    assert outcomes == {"here": NIL_ARRAY, "there": NIL_ARRAY, "nowhere": b"*0\r\n"}
