"""FLUSHDB, FLUSHALL, SWAPDB.

RENAME, RENAMENX, COPY, MOVE.
"""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import NIL, OK, SYNTAX_ERROR, Conversation, Speaker

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


SAME_OBJECT = b"-ERR source and destination objects are the same\r\n"


# -- RENAME, RENAMENX ----------------------------------------------------------------------------


@pytest.mark.parametrize(("command", "reply"), [("RENAME", OK), ("RENAMENX", b":1\r\n")])
def test_a_renamed_key_keeps_its_value_and_its_deadline(
    talk: Conversation, command: str, reply: bytes
) -> None:
    talk.all("SET a 1 PX 1000")
    assert talk.do(f"{command} a b") == reply
    assert talk.events() == ["new b", "rename_from a", "rename_to b"]
    assert talk.propagated() == [f"{command} a b"]
    assert talk.do("GET b") == b"$1\r\n1\r\n"
    assert talk.do("PTTL b") == b":1000\r\n"
    assert talk.do("EXISTS a") == b":0\r\n"


def test_rename_overwrites_and_leaves_no_deadline_of_the_old_key(talk: Conversation) -> None:
    talk.all("SET a 1", "SET b 2 PX 1000")
    talk.all("RENAME a b")
    assert talk.do("GET b") == b"$1\r\n1\r\n"
    assert talk.do("TTL b") == b":-1\r\n"
    assert talk.do("DBSIZE") == b":1\r\n"


def test_renamenx_does_not_overwrite(talk: Conversation) -> None:
    talk.all("MSET a 1 b 2")
    assert talk.do("RENAMENX a b") == b":0\r\n"
    assert talk.do("RENAMENX a a") == b":0\r\n"
    assert talk.do("MGET a b") == b"*2\r\n$1\r\n1\r\n$1\r\n2\r\n"
    assert (talk.events(), talk.propagated()) == ([], [])


def test_an_expired_key_takes_no_name(talk: Conversation) -> None:
    talk.all("SET a 1", "SET b 2 PX 10")
    talk.server.now_ms += 11
    assert talk.do("RENAMENX a b") == b":1\r\n"


def test_a_key_can_be_renamed_to_itself(talk: Conversation) -> None:
    talk.all("SET a 1")
    assert talk.do("RENAME a a") == OK
    assert (talk.events(), talk.propagated()) == ([], [])


@pytest.mark.parametrize("command", ["RENAME", "RENAMENX"])
def test_a_key_that_is_not_there_cannot_be_renamed(talk: Conversation, command: str) -> None:
    assert talk.do(f"{command} none none") == b"-ERR no such key\r\n"


def test_a_stream_that_arrives_by_renaming_wakes_its_readers(talk: Conversation) -> None:
    talk.all("XADD a 1-1 f v")
    reader = talk.other()
    assert reader.do("XREAD BLOCK 0 STREAMS b 0") == b""
    talk.all("RENAME a b")
    assert reader.received().startswith(b"*1\r\n*2\r\n$1\r\nb\r\n")


def test_renaming_fails_transactions_that_watch_either_name(talk: Conversation) -> None:
    talk.all("SET a 1")
    for key in ("a", "b"):
        watcher = talk.other()
        watcher.do(f"WATCH {key}")
        talk.all("RENAME a b", "RENAME b a")
        watcher.do("MULTI")
        assert watcher.do("EXEC") == b"*-1\r\n"


# -- COPY ----------------------------------------------------------------------------------------


def test_a_copy_has_value_and_deadline_and_a_life_of_its_own(talk: Conversation) -> None:
    talk.all("SET a 1 PX 1000")
    assert talk.do("COPY a b") == b":1\r\n"
    assert talk.events() == ["new b", "copy_to b"]
    assert talk.propagated() == ["COPY a b"]
    talk.all("APPEND a x")
    assert talk.do("MGET a b") == b"*2\r\n$2\r\n1x\r\n$1\r\n1\r\n"
    assert talk.do("PTTL b") == b":1000\r\n"


def test_a_copied_stream_takes_its_groups_along(talk: Conversation) -> None:
    talk.all("XADD a 1-1 f v", "XGROUP CREATE a g 0", "COPY a b", "XADD a 2-1 f v")
    assert talk.do("XLEN b") == b":1\r\n"
    assert talk.do("XREADGROUP GROUP g c STREAMS b >").startswith(b"*1\r\n")
    assert talk.do("XPENDING a g") == b"*4\r\n:0\r\n$-1\r\n$-1\r\n*-1\r\n"


def test_copy_overwrites_only_with_replace(talk: Conversation) -> None:
    talk.all("MSET a 1 b 2", "EXPIRE b 100")
    assert talk.do("COPY a b") == b":0\r\n"
    assert talk.propagated() == []
    assert talk.do("COPY a b REPLACE") == b":1\r\n"
    assert talk.do("GET b") == b"$1\r\n1\r\n"
    assert talk.do("TTL b") == b":-1\r\n"


def test_copy_reaches_other_databases(talk: Conversation) -> None:
    talk.all("SET a 1")
    assert talk.do("copy a a db 2") == b":1\r\n"
    assert talk.do("COPY none a DB 2") == b":0\r\n"
    talk.all("SELECT 2")
    assert talk.do("GET a") == b"$1\r\n1\r\n"


@pytest.mark.parametrize(
    ("request_", "reply"),
    [
        ("COPY a a", SAME_OBJECT),
        ("COPY a a DB 0 REPLACE", SAME_OBJECT),
        ("COPY a b DB 16", b"-ERR DB index is out of range\r\n"),
        ("COPY a b DB", SYNTAX_ERROR),
        ("COPY a b OVER", SYNTAX_ERROR),
    ],
)
def test_copy_refuses_what_makes_no_sense(talk: Conversation, request_: str, reply: bytes) -> None:
    assert talk.do(request_) == reply


# -- MOVE ----------------------------------------------------------------------------------------


def test_a_moved_key_is_in_the_other_database_only(talk: Conversation) -> None:
    talk.all("SET a 1 PX 1000")
    assert talk.do("MOVE a 1") == b":1\r\n"
    assert talk.events() == ["new a", "move_from a", "move_to a"]
    assert talk.propagated() == ["MOVE a 1"]
    assert talk.do("GET a") == NIL
    talk.all("SELECT 1")
    assert talk.do("GET a") == b"$1\r\n1\r\n"
    assert talk.do("PTTL a") == b":1000\r\n"


def test_move_does_not_overwrite(talk: Conversation) -> None:
    talk.all("SET a 1", "SELECT 1", "SET a 2")
    assert talk.do("MOVE a 0") == b":0\r\n"
    assert talk.do("MOVE none 0") == b":0\r\n"
    assert talk.do("MOVE a 1") == SAME_OBJECT
    assert talk.do("MOVE a x") == b"-ERR value is not an integer or out of range\r\n"
    assert talk.propagated() == []


def test_a_stream_that_is_moved_wakes_who_waits_in_the_other_database(talk: Conversation) -> None:
    talk.all("XADD s 1-1 f v")
    reader = talk.other()
    reader.do("SELECT 1")
    assert reader.do("XREAD BLOCK 0 STREAMS s 0") == b""
    talk.all("MOVE s 1")
    assert reader.received().startswith(b"*1\r\n")


# -- keys that are overwritten -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "events"),
    [
        ("RENAME a b", ["new b", "rename_from a", "rename_to b", "overwritten b"]),
        (
            "RENAME s b",
            ["new b", "rename_from s", "rename_to b", "overwritten b", "type_changed b"],
        ),
        ("COPY a b REPLACE", ["new b", "copy_to b", "overwritten b"]),
        ("COPY s b REPLACE", ["new b", "copy_to b", "overwritten b", "type_changed b"]),
        ("SET b 3", ["overwritten b", "set b"]),
        ("SET s 3", ["overwritten s", "type_changed s", "set s"]),
        ("GETSET b 3", ["overwritten b", "set b"]),
        ("MSET b 3 c 4", ["overwritten b", "set b", "new c", "set c"]),
        ("APPEND b 3", ["append b"]),
        ("INCR b", ["incrby b"]),
        ("SETRANGE b 0 3", ["setrange b"]),
        ("XADD s * f v", ["xadd s"]),
    ],
)  # fmt: skip
def test_who_asks_for_it_learns_what_was_overwritten(
    talk: Conversation, request_: str, events: list[str]
) -> None:
    talk.all("SET a 1", "SET b 2", "XADD s * f v", "CONFIG SET notify-keyspace-events AEnoc")
    assert not talk.do(request_).startswith(b"-")
    assert talk.events() == events
