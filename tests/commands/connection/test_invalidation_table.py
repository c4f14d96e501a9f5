"""Client-side caching: the clients that get an invalidation when a key changes."""

from __future__ import annotations

from commands.connection.invalidation_table import TrackingTable
from server.inprocess.server import InProcessClient, InProcessServer


def tracking_client(server: InProcessServer, *options: str | int) -> InProcessClient:
    """A RESP3 client with tracking on."""
    client = server.connect()
    client.execute("HELLO", 3)
    assert client.execute("CLIENT", "TRACKING", "ON", *options) == b"+OK\r\n"
    return client


def invalidation(*keys: str) -> bytes:
    """The push that names keys."""
    named = "".join(f"${len(key)}\r\n{key}\r\n" for key in keys)
    return f">2\r\n$10\r\ninvalidate\r\n*{len(keys)}\r\n{named}".encode()


ALL_KEYS = b">2\r\n$10\r\ninvalidate\r\n_\r\n"


# -- by default: keys that were read -----------------------------------------------------------


def test_the_first_change_of_a_read_key_is_sent_once(server: InProcessServer) -> None:
    client, writer = tracking_client(server), server.connect()
    client.execute("GET", "k")
    writer.execute("SET", "k", "1")
    assert client.received() == invalidation("k")
    writer.execute("SET", "k", "2")
    assert client.received() == b""
    client.execute("GET", "k")
    writer.execute("SET", "k", "3")
    assert client.received() == invalidation("k")


def test_a_key_that_was_not_read_is_not_invalidated(server: InProcessServer) -> None:
    client, writer = tracking_client(server), server.connect()
    client.execute("GET", "k")
    writer.execute("SET", "j", "1")
    assert client.received() == b""


def test_every_reader_gets_an_invalidation(server: InProcessServer) -> None:
    readers = [tracking_client(server) for _ in range(3)]
    for reader in readers:
        reader.execute("GET", "k")
    server.connect().execute("SET", "k", "1")
    assert [reader.received() for reader in readers] == [invalidation("k")] * 3


def test_streams_are_tracked_by_what_reads_them(server: InProcessServer) -> None:
    client, writer = tracking_client(server), server.connect()
    for number, read in enumerate(
        [("XRANGE", "s", "-", "+"), ("XLEN", "s"), ("XREAD", "STREAMS", "s", "0")]
    ):
        client.execute(*read)
        writer.execute("XADD", "s", f"1-{number + 1}", "f", "v")
        assert client.received() == invalidation("s"), read


def test_a_write_command_does_not_make_its_client_a_reader(server: InProcessServer) -> None:
    client, writer = tracking_client(server), server.connect()
    client.execute("SET", "k", "1")
    writer.execute("SET", "k", "2")
    assert client.received() == b""


def test_ones_own_change_is_sent_after_its_reply(server: InProcessServer) -> None:
    client = tracking_client(server)
    assert client.pipeline(("GET", "k"), ("SET", "k", "1"), ("PING",)) == (
        b"_\r\n+OK\r\n" + invalidation("k") + b"+PONG\r\n"
    )


def test_ones_own_change_in_a_transaction_is_sent_after_all_replies(
    server: InProcessServer,
) -> None:
    client = tracking_client(server)
    client.execute("GET", "k")
    client.pipeline(("MULTI",), ("SET", "k", "1"), ("SET", "k", "2"))
    assert client.execute("EXEC") == b"*2\r\n+OK\r\n+OK\r\n" + invalidation("k")


def test_what_a_transaction_reads_is_tracked(server: InProcessServer) -> None:
    client, writer = tracking_client(server), server.connect()
    client.pipeline(("MULTI",), ("GET", "a"), ("XLEN", "b"), ("EXEC",))
    writer.execute("SET", "a", "1")
    writer.execute("XADD", "b", "1-1", "f", "v")
    assert client.received() == invalidation("a") + invalidation("b")


def test_a_read_that_fails_is_tracked_all_the_same(server: InProcessServer) -> None:
    client, writer = tracking_client(server), server.connect()
    writer.execute("SET", "k", "1")
    assert client.execute("XLEN", "k").startswith(b"-WRONGTYPE")
    writer.execute("SET", "k", "2")
    assert client.received() == invalidation("k")


def test_a_read_that_waits_is_tracked_while_it_waits_and_when_it_is_served(
    server: InProcessServer,
) -> None:
    client, writer = tracking_client(server), server.connect()
    client.execute("XREAD", "BLOCK", 0, "STREAMS", "s", "$")
    writer.execute("XADD", "s", "1-1", "f", "v")
    received = client.received()
    assert received.startswith(invalidation("s") + b"%1\r\n")
    writer.execute("XADD", "s", "1-2", "f", "v")
    assert client.received() == invalidation("s")


def test_expiry_is_a_change(server: InProcessServer) -> None:
    client, writer = tracking_client(server), server.connect()
    writer.execute("SET", "k", "1")
    server.instance.databases[0].expire_at(b"k", server.now_ms + 10)
    client.execute("GET", "k")
    server.advance(11)
    assert client.received() == invalidation("k")


def test_databases_are_not_distinguished(server: InProcessServer) -> None:
    client, writer = tracking_client(server), server.connect()
    client.execute("SELECT", 1)
    client.execute("GET", "k")
    writer.execute("SET", "k", "1")
    assert client.received() == invalidation("k")


def test_invalidate_all_sends_null_to_every_tracking_client(server: InProcessServer) -> None:
    reader, idle = tracking_client(server), tracking_client(server)
    listener = tracking_client(server, "BCAST", "PREFIX", "x")
    reader.execute("GET", "k")
    server.instance.feature(TrackingTable).invalidate_all()
    server.cycle.finish()
    assert reader.received() == idle.received() == listener.received() == ALL_KEYS
    server.connect().execute("SET", "k", "1")
    assert reader.received() == b""


def test_a_resp2_client_without_redirection_hears_nothing(server: InProcessServer) -> None:
    client, writer = server.connect(), server.connect()
    client.execute("CLIENT", "TRACKING", "ON")
    client.execute("GET", "k")
    writer.execute("SET", "k", "1")
    assert client.received() == b""


def test_tracking_off_ends_it(server: InProcessServer) -> None:
    client, writer = tracking_client(server), server.connect()
    client.execute("GET", "k")
    client.execute("CLIENT", "TRACKING", "OFF")
    writer.execute("SET", "k", "1")
    assert client.received() == b""
    client.execute("CLIENT", "TRACKING", "ON")
    writer.execute("SET", "k", "2")
    assert client.received() == b""


# -- OPTIN, OPTOUT, NOLOOP ---------------------------------------------------------------------


def test_optin_remembers_only_the_request_after_caching_yes(server: InProcessServer) -> None:
    client, writer = tracking_client(server, "OPTIN"), server.connect()
    client.pipeline(("GET", "a"), ("CLIENT", "CACHING", "YES"), ("GET", "b"), ("GET", "c"))
    for key in ("a", "b", "c"):
        writer.execute("SET", key, "1")
    assert client.received() == invalidation("b")


def test_optout_skips_only_the_request_after_caching_no(server: InProcessServer) -> None:
    client, writer = tracking_client(server, "OPTOUT"), server.connect()
    client.pipeline(("GET", "a"), ("CLIENT", "CACHING", "NO"), ("GET", "b"), ("GET", "c"))
    for key in ("a", "b", "c"):
        writer.execute("SET", key, "1")
    assert client.received() == invalidation("a") + invalidation("c")


def test_caching_is_used_up_by_any_request_but_those_about_the_client(
    server: InProcessServer,
) -> None:
    client, writer = tracking_client(server, "OPTIN"), server.connect()
    client.pipeline(("CLIENT", "CACHING", "YES"), ("CLIENT", "TRACKINGINFO"), ("GET", "a"))
    client.pipeline(("CLIENT", "CACHING", "YES"), ("PING",), ("GET", "b"))
    writer.execute("SET", "a", "1")
    writer.execute("SET", "b", "1")
    assert client.received() == invalidation("a")


def test_caching_covers_a_transaction_as_a_whole(server: InProcessServer) -> None:
    client, writer = tracking_client(server, "OPTIN"), server.connect()
    client.pipeline(("CLIENT", "CACHING", "YES"), ("MULTI",), ("GET", "a"), ("GET", "b"), ("EXEC",))
    client.execute("GET", "c")
    for key in ("a", "b", "c"):
        writer.execute("SET", key, "1")
    assert client.received() == invalidation("a") + invalidation("b")


def test_noloop_says_nothing_of_ones_own_changes(server: InProcessServer) -> None:
    client, writer = tracking_client(server, "NOLOOP"), server.connect()
    client.execute("GET", "k")
    assert client.execute("SET", "k", "1") == b"+OK\r\n"
    client.execute("GET", "k")
    writer.execute("SET", "k", "2")
    assert client.received() == invalidation("k")


# -- BCAST -------------------------------------------------------------------------------------


def test_bcast_sends_every_change_read_or_not(server: InProcessServer) -> None:
    client, writer = tracking_client(server, "BCAST"), server.connect()
    for _ in range(2):
        writer.execute("SET", "k", "1")
        assert client.received() == invalidation("k")


def test_bcast_sends_all_changes_of_a_cycle_in_one_message(server: InProcessServer) -> None:
    client, writer = tracking_client(server, "BCAST"), server.connect()
    writer.pipeline(("SET", "b", "1"), ("SET", "a", "1"), ("SET", "b", "2"))
    assert client.received() == invalidation("a", "b")


def test_bcast_has_a_message_for_each_prefix(server: InProcessServer) -> None:
    client = tracking_client(server, "BCAST", "PREFIX", "a", "PREFIX", "b")
    writer = server.connect()
    writer.pipeline(("SET", "a1", "1"), ("SET", "b1", "1"), ("SET", "c1", "1"), ("SET", "a2", "1"))
    assert client.received() == invalidation("a1", "a2") + invalidation("b1")


def test_bcast_sends_ones_own_changes_after_the_whole_batch(server: InProcessServer) -> None:
    client = tracking_client(server, "BCAST")
    assert client.pipeline(("SET", "k", "1"), ("PING",)) == b"+OK\r\n+PONG\r\n" + invalidation("k")


def test_bcast_with_noloop_sends_only_changes_of_others(server: InProcessServer) -> None:
    client, writer = tracking_client(server, "BCAST", "NOLOOP"), server.connect()
    assert client.execute("SET", "k", "1") == b"+OK\r\n"
    writer.execute("SET", "k", "2")
    assert client.received() == invalidation("k")


def test_bcast_with_noloop_sends_changes_of_others_in_the_same_cycle(
    server: InProcessServer,
) -> None:
    client, writer = tracking_client(server, "BCAST", "NOLOOP"), server.connect()
    tracking = server.instance.feature(TrackingTable)
    for order in ((client, writer), (writer, client)):
        for changer in order:
            tracking.invalidate(b"k", changer.state)
        server.cycle.finish()
        assert client.received() == invalidation("k")


def test_a_listener_that_leaves_before_the_end_of_the_cycle_hears_nothing(
    server: InProcessServer,
) -> None:
    client, other = tracking_client(server, "BCAST"), tracking_client(server, "BCAST")
    tracking = server.instance.feature(TrackingTable)
    tracking.invalidate(b"k", None)
    client.disconnect()
    server.cycle.finish()
    assert other.received() == invalidation("k")
    tracking.invalidate(b"k", None)
    other.disconnect()
    server.cycle.finish()
    assert not tracking.changes
    assert not tracking.listeners


# -- REDIRECT ----------------------------------------------------------------------------------


def test_a_resp3_target_hears_without_a_subscription(server: InProcessServer) -> None:
    target, writer = server.connect(), server.connect()
    target.execute("HELLO", 3)
    client = tracking_client(server, "REDIRECT", target.state.id)
    client.execute("GET", "k")
    writer.execute("SET", "k", "1")
    assert target.received() == invalidation("k")
    assert client.received() == b""
    server.instance.feature(TrackingTable).invalidate_all()
    server.cycle.finish()
    assert target.received() == ALL_KEYS


def test_a_resp2_target_hears_while_it_is_subscribed(server: InProcessServer) -> None:
    client, target, writer = (server.connect() for _ in range(3))
    client.execute("CLIENT", "TRACKING", "ON", "REDIRECT", target.state.id)
    client.execute("GET", "k")
    writer.execute("SET", "k", "1")
    assert target.received() == b""
    target.execute("SUBSCRIBE", "__redis__:invalidate")
    client.execute("GET", "k")
    writer.execute("SET", "k", "2")
    head = b"*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n"
    assert target.received() == head + b"*1\r\n$1\r\nk\r\n"
    server.instance.feature(TrackingTable).invalidate_all()
    server.cycle.finish()
    assert target.received() == head + b"$-1\r\n"


def test_bcast_redirects_too(server: InProcessServer) -> None:
    client, target, writer = (server.connect() for _ in range(3))
    target.execute("SUBSCRIBE", "__redis__:invalidate")
    client.execute("CLIENT", "TRACKING", "ON", "BCAST", "REDIRECT", target.state.id)
    writer.pipeline(("SET", "b", "1"), ("SET", "a", "1"))
    assert target.received().endswith(b"*2\r\n$1\r\na\r\n$1\r\nb\r\n")


def test_when_the_target_disconnects_the_client_is_notified(server: InProcessServer) -> None:
    target, writer = server.connect(), server.connect()
    client = tracking_client(server, "REDIRECT", target.state.id)
    client.execute("GET", "k")
    target.disconnect()
    writer.execute("SET", "k", "1")
    broken = b">2\r\n$21\r\ntracking-redir-broken\r\n:%d\r\n" % target.state.id
    assert client.received() == broken
    assert b"broken_redirect" in client.execute("CLIENT", "TRACKINGINFO")
    assert b" flags=tR " in client.execute("CLIENT", "INFO")
    client.execute("CLIENT", "TRACKING", "ON")
    assert b"broken_redirect" not in client.execute("CLIENT", "TRACKINGINFO")


# -- the table ---------------------------------------------------------------------------------


def test_the_table_never_holds_more_keys_than_allowed() -> None:
    server = InProcessServer(tracking_table_max_keys="2")
    client = tracking_client(server)
    assert client.pipeline(("GET", "a"), ("GET", "b"), ("GET", "a")) == b"_\r\n_\r\n_\r\n"
    assert client.execute("GET", "c") == b"_\r\n" + invalidation("a")
    assert list(server.instance.feature(TrackingTable).readers) == [b"b", b"c"]


def test_a_lower_limit_evicts_at_once(server: InProcessServer) -> None:
    client, admin = tracking_client(server), server.connect()
    client.pipeline(("GET", "a"), ("GET", "b"), ("GET", "c"))
    client.received()
    admin.execute("CONFIG", "SET", "tracking-table-max-keys", "1")
    assert client.received() == invalidation("a") + invalidation("b")
    assert list(server.instance.feature(TrackingTable).readers) == [b"c"]
    admin.execute("CONFIG", "SET", "tracking-table-max-keys", "0")
    assert client.received() == b""


def test_a_limit_of_zero_is_none() -> None:
    server = InProcessServer(tracking_table_max_keys="0")
    client = tracking_client(server)
    for number in range(100):
        assert client.execute("GET", f"k{number}") == b"_\r\n"
    assert len(server.instance.feature(TrackingTable).readers) == 100


def test_the_table_counts_its_keys_and_readers(server: InProcessServer) -> None:
    first, second = tracking_client(server), tracking_client(server)
    for client in (first, second):
        client.pipeline(("GET", "a"), ("GET", "b"), ("GET", "a"))
    table = server.instance.feature(TrackingTable)
    assert (len(table.readers), table.total_items) == (2, 4)
    server.connect().execute("SET", "a", "1")
    assert (len(table.readers), table.total_items) == (1, 2)


def test_a_reader_that_has_left_is_passed_over(server: InProcessServer) -> None:
    first, second, writer = tracking_client(server), tracking_client(server), server.connect()
    first.execute("GET", "k")
    second.execute("GET", "k")
    first.disconnect()
    writer.execute("SET", "k", "1")
    assert second.received() == invalidation("k")


def test_when_the_last_tracking_client_leaves_the_table_is_empty(server: InProcessServer) -> None:
    first, second = tracking_client(server), tracking_client(server, "BCAST")
    table = server.instance.feature(TrackingTable)
    assert server.instance.is_observed
    first.execute("GET", "k")
    first.disconnect()
    assert server.instance.is_observed
    second.disconnect()
    assert not server.instance.is_observed
    assert (table.readers, table.total_items, table.listeners) == ({}, 0, {})
