"""server/replication/primary/feed.py: the bytes of the stream, and their count."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from protocol.replies import command
from server.inprocess.server import InProcessServer
from server.replication.primary.feed import MIN_BYTES, Backlog, Feed


def test_replicas_that_lack_nothing_resume_from_an_empty_backlog() -> None:
    backlog = Backlog(MIN_BYTES, 100)
    assert (backlog.first_offset, backlog.length) == (101, 0)
    assert [backlog.holds(offset) for offset in (100, 101, 102)] == [False, True, False]
    assert backlog.since(101) == []


def test_the_next_byte_after_the_end_lacks_nothing() -> None:
    backlog = Backlog(MIN_BYTES, 0)
    backlog.append(b"abc")
    assert [backlog.holds(offset) for offset in (0, 1, 4, 5)] == [False, True, True, False]
    assert b"".join(backlog.since(2)) == b"bc"
    assert backlog.since(4) == []


def test_large_chunks_are_neither_copied_nor_joined() -> None:
    backlog = Backlog(1 << 20, 0)
    chunks = [bytes(20_000), bytes(20_000)]
    for chunk in chunks:
        backlog.append(chunk)
    assert all(held is chunk for held, chunk in zip(backlog.since(1), chunks, strict=True))


@given(st.lists(st.binary(min_size=1, max_size=30_000), max_size=30), st.integers(1, 60_000))
def test_it_holds_the_end_of_the_stream(chunks: list[bytes], size_bytes: int) -> None:
    backlog, stream = Backlog(size_bytes, 7), b""
    for chunk in chunks:
        backlog.append(chunk)
        stream += chunk
    least = min(len(stream), max(size_bytes, MIN_BYTES))
    assert backlog.length >= least
    for offset in {backlog.first_offset, 8 + len(stream) - least, 8 + len(stream)}:
        assert backlog.holds(offset)
        assert b"".join(backlog.since(offset)) == stream[offset - 8 :]
    assert not backlog.holds(backlog.first_offset - 1)
    assert not backlog.holds(9 + len(stream))


XADD = command([b"XADD", b"s", b"1-1", b"f", b"v"])
SELECT = [command([b"SELECT", b"%d" % index]) for index in range(4)]


def feeding() -> tuple[InProcessServer, Feed]:
    """A server whose stream has begun."""
    server = InProcessServer()
    feed = server.replication.feed
    feed.begin_backlog()
    feed.start()
    return server, feed


def stream(server: InProcessServer, feed: Feed, since: int = 1) -> bytes:
    server.finish_cycle()
    assert feed.backlog is not None
    return b"".join(feed.backlog.since(since))


def test_the_first_write_selects_its_database() -> None:
    server, feed = feeding()
    client = server.connect()
    client.execute("XADD", "s", "1-1", "f", "v")
    client.execute("XADD", "s", "1-1", "f", "v")  # refused
    assert stream(server, feed) == SELECT[0] + XADD
    assert server.instance.replication.offset == len(SELECT[0] + XADD)


def test_another_database_is_selected_and_one_that_is_not() -> None:
    server, feed = feeding()
    client = server.connect()
    for index in (2, 3):
        client.pipeline(("SELECT", index), ("SET", "k", "v"))
    client.execute("DEL", "k")
    set_k, del_k = command([b"SET", b"k", b"v"]), command([b"DEL", b"k"])
    assert stream(server, feed) == SELECT[2] + set_k + SELECT[3] + set_k + del_k


def test_a_transaction_leaves_its_last_database_selected() -> None:
    server, feed = feeding()
    client = server.connect()
    client.pipeline(("MULTI",), ("SET", "k", "v"), ("SELECT", 1), ("SET", "k", "v"), ("EXEC",))
    client.execute("DEL", "k")
    set_k, del_k = command([b"SET", b"k", b"v"]), command([b"DEL", b"k"])
    whole = [SELECT[0], command([b"MULTI"]), set_k, SELECT[1], set_k, command([b"EXEC"]), del_k]
    assert stream(server, feed) == b"".join(whole)


def test_the_stream_has_every_xadd_of_a_pipeline() -> None:
    server, feed = feeding()
    client = server.connect()
    client.execute("XADD", "s", "*", "f", "0")
    client.pipeline(*[("XADD", "s", "*", "f", number) for number in range(20)])
    assert stream(server, feed).count(b"XADD") == 21
    assert server.instance.replication.offset == len(stream(server, feed))


def test_messages_select_nothing_and_reach_no_file() -> None:
    server, feed = feeding()
    client = server.connect()
    client.execute("SELECT", 2)
    client.execute("PUBLISH", "c", "m")
    client.pipeline(("MULTI",), ("SET", "k", "v"), ("PUBLISH", "c", "m"), ("EXEC",))
    publish, set_k = command([b"PUBLISH", b"c", b"m"]), command([b"SET", b"k", b"v"])
    unit = command([b"MULTI"]) + set_k + publish + command([b"EXEC"])
    assert stream(server, feed) == publish + SELECT[2] + unit
    assert server.propagated == [(2, [[b"SET", b"k", b"v"]])]


def test_a_script_keeps_messages_from_replicas_as_it_keeps_writes() -> None:
    server, feed = feeding()
    script = """
        for _, replicates in ipairs({redis.REPL_NONE, redis.REPL_AOF, redis.REPL_REPLICA}) do
            redis.set_repl(replicates)
            redis.call('PUBLISH', 'c', replicates)
            redis.call('publish', 'c', tostring(replicates))
        end
    """
    server.connect().execute("EVAL", script, 0)
    publish = [command([name, b"c", b"2"]) for name in (b"PUBLISH", b"publish")]
    assert stream(server, feed) == command([b"MULTI"]) + b"".join(publish) + command([b"EXEC"])


def test_a_message_without_replicas_does_not_change_the_offset(server: InProcessServer) -> None:
    server.connect().execute("PUBLISH", "c", "m")
    assert server.instance.replication.offset == 0 and server.propagated == []


def test_forgetting_the_database_selects_it_again() -> None:
    server, feed = feeding()
    client = server.connect()
    client.execute("SET", "k", "v")
    feed.forget_database()
    client.execute("DEL", "k")
    assert stream(server, feed).endswith(SELECT[0] + command([b"DEL", b"k"]))


def test_nothing_is_counted_once_it_has_stopped() -> None:
    server, feed = feeding()
    feed.stop()
    server.connect().execute("SET", "k", "v")
    assert server.instance.replication.offset == 0
