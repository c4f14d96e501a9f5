"""FLUSHDB, FLUSHALL, SWAPDB."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import OK, SYNTAX_ERROR, Conversation, Speaker

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


@pytest.mark.parametrize("mode", ["", " ASYNC", " sync"])
def test_flushdb_empties_one_database_and_flushall_every_one(talk: Conversation, mode: str) -> None:
    talk.all("SET a 1", "SELECT 1", "SET b 1")
    assert talk.do(f"FLUSHDB{mode}") == OK
    assert talk.do("DBSIZE") == b":0\r\n"
    talk.all("SELECT 0")
    assert talk.do("DBSIZE") == b":1\r\n"
    talk.all("SELECT 1")
    assert talk.do(f"FLUSHALL{mode}") == OK
    talk.all("SELECT 0")
    assert talk.do("DBSIZE") == b":0\r\n"


@pytest.mark.parametrize("request_", ["FLUSHDB", "FLUSHALL ASYNC"])
def test_flushing_is_propagated_even_when_there_was_nothing(
    talk: Conversation, request_: str
) -> None:
    talk.all(request_)
    talk.do(request_)
    assert talk.propagated() == [request_]


@pytest.mark.parametrize("request_", ["FLUSHDB x", "FLUSHALL SYNC ASYNC", "FLUSHALL ASYNC x"])
def test_an_unknown_mode_removes_nothing(talk: Conversation, request_: str) -> None:
    talk.all("SET a 1")
    assert talk.do(request_) == SYNTAX_ERROR
    assert talk.do("DBSIZE") == b":1\r\n"


def test_flushing_fails_transactions_that_watch_a_key_that_was_there(talk: Conversation) -> None:
    talk.all("SET a 1")
    there, missing = watching(talk, "a"), watching(talk, "b")
    elsewhere = talk.other()
    elsewhere.do("SELECT 1")
    elsewhere.do("WATCH a")
    talk.all("FLUSHDB")
    assert exec_of(there) == NIL_ARRAY
    assert exec_of(missing) == b"*0\r\n"
    assert exec_of(elsewhere) == b"*0\r\n"


def test_flushing_what_had_expired_when_it_was_watched_changes_nothing(talk: Conversation) -> None:
    talk.all("SET a 1 PX 10")
    talk.server.now_ms += 11
    watcher = watching(talk, "a")
    talk.all("FLUSHALL")
    assert exec_of(watcher) == b"*0\r\n"


def test_flushing_wakes_who_reads_through_a_group_but_not_plain_readers(
    talk: Conversation,
) -> None:
    talk.all("XGROUP CREATE s g $ MKSTREAM")
    member, reader = talk.other(), talk.other()
    member.do("XREADGROUP GROUP g c BLOCK 0 STREAMS s >")
    reader.do("XREAD BLOCK 0 STREAMS s $")
    talk.all("FLUSHALL")
    assert member.received().startswith(b"-NOGROUP ")
    assert reader.received() == b""


@pytest.mark.parametrize("request_", ["FLUSHDB", "FLUSHALL"])
def test_flushing_invalidates_client_side_caches(talk: Conversation, request_: str) -> None:
    cache = talk.other()
    cache.do("HELLO 3")
    cache.do("CLIENT TRACKING ON")
    cache.do("GET k")
    talk.all(request_)
    assert cache.received() == b">2\r\n$10\r\ninvalidate\r\n_\r\n"


# -- SWAPDB --------------------------------------------------------------------------------------


def test_swapped_databases_change_places_under_their_clients(talk: Conversation) -> None:
    talk.all("SET a 1 EX 100")
    other = talk.other()
    other.do("SELECT 1")
    assert talk.do("SWAPDB 0 1") == OK
    assert talk.propagated() == ["SWAPDB 0 1"]
    assert talk.do("EXISTS a") == b":0\r\n"
    assert other.do("TTL a") == b":100\r\n"


def test_swapping_a_database_with_itself_is_allowed(talk: Conversation) -> None:
    talk.all("SET a 1")
    watcher = watching(talk, "a")
    assert talk.do("SWAPDB 0 0") == OK
    assert exec_of(watcher) == b"*0\r\n"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("x 1", b"-ERR invalid first DB index\r\n"),
        ("0 x", b"-ERR invalid second DB index\r\n"),
        ("2147483648 0", b"-ERR invalid first DB index\r\n"),
        ("0 16", b"-ERR DB index is out of range\r\n"),
        ("-1 0", b"-ERR DB index is out of range\r\n"),
    ],
)
def test_databases_that_are_not_there_cannot_be_swapped(
    talk: Conversation, words: str, text: bytes
) -> None:
    assert talk.do(f"SWAPDB {words}") == text


def test_swapping_fails_transactions_that_watch_a_key_of_either_side(talk: Conversation) -> None:
    talk.all("SET here 1", "SELECT 1", "SET there 1", "SELECT 0")
    outcomes = {}
    for key in ("here", "there", "nowhere"):
        watcher = watching(talk, key)
        talk.all("SWAPDB 0 1")
        outcomes[key] = exec_of(watcher)
        talk.all("SWAPDB 0 1")
    assert outcomes == {"here": NIL_ARRAY, "there": NIL_ARRAY, "nowhere": b"*0\r\n"}


def test_an_expired_key_that_comes_by_swapping_counts_as_none(talk: Conversation) -> None:
    talk.all("SELECT 1", "SET a 1 PX 10", "SELECT 0")
    talk.server.now_ms += 11
    missing = watching(talk, "a")
    talk.all("SWAPDB 0 1")
    assert exec_of(missing) == b"*0\r\n"


def test_a_stream_that_comes_by_swapping_wakes_its_readers(talk: Conversation) -> None:
    talk.all("SELECT 1", "XADD s 1-1 f v", "SELECT 0")
    reader = talk.other()
    assert reader.do("XREAD BLOCK 0 STREAMS s 0") == b""
    talk.all("SWAPDB 1 0")
    assert reader.received().startswith(b"*1\r\n")
