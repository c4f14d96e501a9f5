"""DEBUG."""

from __future__ import annotations

import re

import pytest

from server.inprocess.server import InProcessClient, InProcessServer
from tests.commands.server.decoder import decode, server_with
from tests.server.replication.pairs import PRIMARY, REPLICA, Cluster, follow

NOT_ALLOWED = b"-ERR DEBUG command not allowed. If the enable-debug-command option is set to"


@pytest.fixture
def server() -> InProcessServer:
    return server_with(enable_debug_command="yes")


def test_debug_is_off_by_default() -> None:
    client = InProcessServer().connect()
    assert client.execute("DEBUG", "HELP").startswith(NOT_ALLOWED)


def test_debug_can_be_on_for_local_connections_only() -> None:
    server = server_with(enable_debug_command="local")
    near, far = server.connect(), server.connect()
    far.state.address = b"10.0.0.1:4711"
    assert near.execute("DEBUG", "SLEEP", "0") == b"+OK\r\n"
    assert far.execute("DEBUG", "SLEEP", "0").startswith(NOT_ALLOWED)


def test_sleep_stops_the_server_for_fractions_of_a_second(
    server: InProcessServer, client: InProcessClient
) -> None:
    before_ms = server.now_ms
    assert client.execute("DEBUG", "SLEEP", "0.25") == b"+OK\r\n"
    assert server.now_ms == before_ms + 250


@pytest.mark.parametrize("seconds", ["abc", "-1", "nan", "inf"])
def test_a_sleep_that_makes_no_sense_is_none(
    server: InProcessServer, client: InProcessClient, seconds: str
) -> None:
    before_ms = server.now_ms
    assert client.execute("DEBUG", "SLEEP", seconds) == b"+OK\r\n"
    assert server.now_ms == before_ms


def test_object_reports_encoding_and_idle_time(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute("SET", "k", "text")
    client.execute("XADD", "s", "1-1", "f", "v")
    server.advance(5000)
    line = client.execute("DEBUG", "OBJECT", "k")
    assert re.fullmatch(
        rb"\+Value at:0x[0-9a-f]+ refcount:1 encoding:embstr serializedlength:5 lru:\d+"
        rb" lru_seconds_idle:5\r\n",
        line,
    )
    assert b"encoding:stream" in client.execute("DEBUG", "OBJECT", "s")
    # Looking does not count as access.
    assert b"lru_seconds_idle:5\r\n" in client.execute("DEBUG", "OBJECT", "k")


def test_object_of_a_missing_key_is_an_error(client: InProcessClient) -> None:
    assert client.execute("DEBUG", "OBJECT", "missing") == b"-ERR no such key\r\n"


def test_the_serialized_length_follows_compression(client: InProcessClient) -> None:
    client.execute("SET", "k", "a" * 1000)
    short = client.execute("DEBUG", "OBJECT", "k")
    client.execute("CONFIG", "SET", "rdbcompression", "no")
    assert b"serializedlength:1002 " in client.execute("DEBUG", "OBJECT", "k")
    assert b"serializedlength:1002 " not in short


ZEROS = b"0" * 40


def test_the_digest_of_an_empty_server_is_all_zero(client: InProcessClient) -> None:
    assert client.execute("DEBUG", "DIGEST") == b"+%b\r\n" % ZEROS


def test_equal_content_has_equal_digests_on_two_servers(client: InProcessClient) -> None:
    other = server_with(enable_debug_command="yes").connect()
    requests = ["SET a 1", "XADD s 1-1 f v", "XGROUP CREATE s g 0", "SET b 2 PXAT 4000000000000"]
    for request in requests:
        client.execute(*request.split())
    for request in requests[3:] + requests[:3]:
        other.execute(*request.split())
    digest = client.execute("DEBUG", "DIGEST")
    assert digest == other.execute("DEBUG", "DIGEST") != b"+%b\r\n" % ZEROS
    other.execute("XACK", "s", "g", "1-1")
    assert other.execute("DEBUG", "DIGEST") == digest
    other.execute("XGROUP", "SETID", "s", "g", "$")
    assert other.execute("DEBUG", "DIGEST") != digest


def test_digests_of_values_do_not_depend_on_their_keys(client: InProcessClient) -> None:
    for key in ("a", "b"):
        client.execute("SET", key, "text")
    client.execute("SET", "c", "other")
    digests = decode(client.execute("DEBUG", "DIGEST-VALUE", "a", "b", "c", "none"))
    assert digests[0] == digests[1] != digests[2]
    assert [len(digest) for digest in digests] == [40] * 4
    assert digests[3] == ZEROS
    assert client.execute("DEBUG", "DIGEST-VALUE") == b"*0\r\n"


def test_a_reload_saves_and_loads_everything(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute("XADD", "s", "1-1", "f", "v")
    client.execute("SET", "a", "text", "EX", 1000)
    digest = client.execute("DEBUG", "DIGEST")
    assert client.execute("DEBUG", "RELOAD") == b"+OK\r\n"
    assert client.execute("DEBUG", "DIGEST") == digest
    client.execute("SET", "b", "later")
    assert client.execute("DEBUG", "RELOAD", "NOSAVE") == b"+OK\r\n"
    assert client.execute("DEBUG", "DIGEST") == digest
    client.execute("SET", "b", "later")
    assert client.execute("DEBUG", "RELOAD", "nosave", "noflush", "merge") == b"+OK\r\n"
    assert client.execute("DBSIZE") == b":3\r\n"


def test_a_client_that_waits_goes_on_waiting_through_a_reload(
    server: InProcessServer, client: InProcessClient
) -> None:
    waiting = server.connect()
    waiting.execute("XREAD", "BLOCK", 0, "STREAMS", "s", "$")
    client.execute("DEBUG", "RELOAD")
    assert waiting.received() == b""
    client.execute("XADD", "s", "1-1", "f", "v")
    assert waiting.received().startswith(b"*1\r\n*2\r\n$1\r\ns\r\n")


def test_the_append_only_file_can_be_loaded_again() -> None:
    server = InProcessServer(enable_debug_command="yes", appendonly="yes")
    client = server.connect()
    client.execute("XADD", "s", "1-1", "f", "v")
    client.execute("XGROUP", "CREATE", "s", "g", "0")
    client.execute("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
    digest = client.execute("DEBUG", "DIGEST")
    assert client.execute("DEBUG", "LOADAOF") == b"+OK\r\n"
    assert client.execute("DEBUG", "DIGEST") == digest
    client.execute("XADD", "s", "2-1", "f", "v")
    digest = client.execute("DEBUG", "DIGEST")
    again = server.restart()
    assert again.connect().execute("DEBUG", "DIGEST") == digest


def test_a_reload_knows_its_options(client: InProcessClient) -> None:
    assert client.execute("DEBUG", "RELOAD", "NOW") == (
        b"-ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.\r\n"
    )


def test_nothing_is_loaded_twice_at_once(server: InProcessServer, client: InProcessClient) -> None:
    server.instance.set_loading(True)
    for words in (("RELOAD",), ("LOADAOF",)):
        assert client.execute("DEBUG", *words).startswith(b"-LOADING ")


def test_active_expiry_can_be_switched_off(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute("DEBUG", "SET-ACTIVE-EXPIRE", "0")
    client.execute("SET", "k", "v", "PX", "10")
    server.advance(1000)
    assert client.execute("DBSIZE") == b":1\r\n"
    client.execute("DEBUG", "SET-ACTIVE-EXPIRE", "1")
    server.tick()
    assert client.execute("DBSIZE") == b":0\r\n"


def test_patterns_can_be_tried(client: InProcessClient) -> None:
    assert client.execute("DEBUG", "STRINGMATCH-LEN", "a*[0-9]", "abc7") == b":1\r\n"
    assert client.execute("DEBUG", "STRINGMATCH-LEN", "a*[0-9]", "abc") == b":0\r\n"


@pytest.mark.parametrize("words", [("NONSENSE",), ("SLEEP",), ("OBJECT", "a", "b")])
def test_unknown_tools_and_wrong_arguments_are_refused(
    client: InProcessClient, words: tuple[str, ...]
) -> None:
    assert client.execute("DEBUG", *words) == (
        b"-ERR unknown subcommand or wrong number of arguments for '%b'. Try DEBUG HELP.\r\n"
        % words[0].encode()
    )


def test_help_names_every_tool(client: InProcessClient) -> None:
    words = {line.split()[0] for line in decode(client.execute("DEBUG", "HELP"))}
    assert {b"SLEEP", b"OBJECT", b"SET-ACTIVE-EXPIRE", b"STRINGMATCH-LEN", b"HELP"} <= words


def test_populate_makes_strings_that_are_not_propagated(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute("SET", "key:1", "mine")
    server.propagated.clear()
    assert client.execute("DEBUG", "POPULATE", 3) == b"+OK\r\n"
    values = client.execute("MGET", "key:0", "key:1", "key:2")
    assert values == b"*3\r\n$7\r\nvalue:0\r\n$4\r\nmine\r\n$7\r\nvalue:2\r\n"
    assert client.execute("DEBUG", "POPULATE", 2, "p", 9) == b"+OK\r\n"
    assert client.execute("GET", "p:1") == b"$9\r\nvalue:1\0\0\r\n"
    assert client.execute("DEBUG", "POPULATE", 1, "short", 3) == b"+OK\r\n"
    assert client.execute("GET", "short:0") == b"$3\r\nval\r\n"
    assert client.execute("DBSIZE") == b":6\r\n"
    assert server.propagated == []


@pytest.mark.parametrize("words", [["x"], ["-1"], ["1", "a", "-5"], ["1", "a", "x"]])
def test_populate_refuses_what_is_no_size(client: InProcessClient, words: list[str]) -> None:
    reply = client.execute("DEBUG", "POPULATE", *words)
    assert reply == b"-ERR value is out of range, must be positive\r\n"
    assert client.execute("DBSIZE") == b":0\r\n"


@pytest.mark.parametrize("words", [[], ["1", "a", "2", "3"]])
def test_populate_takes_one_to_three_words(client: InProcessClient, words: list[str]) -> None:
    reply = client.execute("DEBUG", "POPULATE", *words)
    assert reply.startswith(b"-ERR unknown subcommand or wrong number of arguments for 'POPULATE'")


def test_cron_can_be_paused(server: InProcessServer, client: InProcessClient) -> None:
    client.execute("SET", "k", "v", "PX", 10)
    assert client.execute("DEBUG", "PAUSE-CRON", 1) == b"+OK\r\n"
    server.advance(20)
    assert client.execute("DBSIZE") == b":1\r\n"
    assert client.execute("DEBUG", "PAUSE-CRON", 0) == b"+OK\r\n"
    server.advance(1)
    assert client.execute("DBSIZE") == b":0\r\n"


def test_log_writes_a_line(client: InProcessClient) -> None:
    assert client.execute("DEBUG", "LOG", "a line") == b"+OK\r\n"
    assert ("warning", "DEBUG LOG: a line") in client.server.log_lines


def test_replicate_sends_replicas_what_does_not_run_here() -> None:
    cluster = Cluster()
    primary, replica = cluster.server(PRIMARY), cluster.server(REPLICA)
    primary.instance.config.enable_debug_command = "yes"
    follow(replica)
    cluster.settle()
    client = primary.connect()
    assert client.execute("DEBUG", "REPLICATE", "SET", "k", "v") == b"+OK\r\n"
    cluster.settle()
    assert client.execute("GET", "k") == b"$-1\r\n"
    assert replica.connect().execute("GET", "k") == b"$1\r\nv\r\n"
    assert client.execute("DEBUG", "REPLICATE").startswith(b"-ERR unknown subcommand or wrong")
