"""PING, ECHO, SELECT, RESET, QUIT.

AUTH and HELLO.
"""

from __future__ import annotations

import pytest

from commands.connection.invalidation_table import TrackingTable
from commands.core.gates import GATE_AUTH, GATE_MULTI, GATE_SILENT, GATE_SUBSCRIBED, GATE_TRACKING
from commands.core.host import REDIS_VERSION
from commands.pubsub.registry import PubSub
from commands.transactions.transaction import Transaction
from commands.transactions.watched_keys import WatchedKeys, Watchers
from server.inprocess.server import InProcessClient, InProcessServer


def test_ping_answers_pong_or_its_message(server: InProcessServer) -> None:
    client = server.connect()
    assert client.execute("PING") == b"+PONG\r\n"
    assert client.execute("PING", b"a\r\nb") == b"$4\r\na\r\nb\r\n"


def test_ping_with_two_messages_has_the_wrong_number_of_arguments(server: InProcessServer) -> None:
    error = b"-ERR wrong number of arguments for 'ping' command\r\n"
    assert server.connect().execute("PING", "a", "b") == error


def test_ping_of_a_resp2_subscriber_looks_like_a_message(server: InProcessServer) -> None:
    client = server.connect()
    client.execute("SUBSCRIBE", "ch")
    assert client.execute("PING") == b"*2\r\n$4\r\npong\r\n$0\r\n\r\n"
    assert client.execute("PING", "hi") == b"*2\r\n$4\r\npong\r\n$2\r\nhi\r\n"


def test_ping_of_a_resp3_subscriber_is_the_usual_one(server: InProcessServer) -> None:
    client = server.connect()
    client.execute("HELLO", 3)
    client.execute("SUBSCRIBE", "ch")
    assert client.execute("PING") == b"+PONG\r\n"


def test_echo_answers_its_message(server: InProcessServer) -> None:
    assert server.connect().execute("ECHO", b"\x00\xff") == b"$2\r\n\x00\xff\r\n"


def test_select_changes_the_database(server: InProcessServer) -> None:
    client = server.connect()
    client.execute("SET", "k", "zero")
    assert client.execute("SELECT", 15) == b"+OK\r\n"
    assert client.execute("GET", "k") == b"$-1\r\n"
    client.execute("SELECT", 0)
    assert client.execute("GET", "k") == b"$4\r\nzero\r\n"


@pytest.mark.parametrize(
    ("index", "error"),
    [
        ("x", b"-ERR value is not an integer or out of range\r\n"),
        ("16", b"-ERR DB index is out of range\r\n"),
        ("-1", b"-ERR DB index is out of range\r\n"),
        (
            "99999999999",
            b"-ERR value is out of range, value must between -2147483648 and 2147483647\r\n",
        ),
    ],
)
def test_select_refuses_what_is_no_database(
    server: InProcessServer, index: str, error: bytes
) -> None:
    client = server.connect()
    assert client.execute("SELECT", index) == error
    assert client.state.db.index == 0


def test_quit_answers_closes_and_runs_no_later_request(server: InProcessServer) -> None:
    client = server.connect()
    assert client.pipeline(("QUIT",), ("SET", "k", "v")) == b"+OK\r\n"
    assert client.closed
    assert server.connect().execute("GET", "k") == b"$-1\r\n"


def test_quit_closes_even_in_a_transaction(server: InProcessServer) -> None:
    client = server.connect()
    assert client.pipeline(("MULTI",), ("SET", "k", "v"), ("QUIT",)).endswith(b"+QUEUED\r\n+OK\r\n")
    assert client.closed


def test_reset_ends_every_mode_of_the_connection(server: InProcessServer) -> None:
    client = server.connect()
    state = client.state
    client.execute("HELLO", 3, "SETNAME", "me")
    client.execute("SELECT", 3)
    client.execute("WATCH", "w")
    client.execute("SUBSCRIBE", "ch")
    client.execute("PSUBSCRIBE", "p*")
    client.execute("SSUBSCRIBE", "sh")
    client.execute("CLIENT", "TRACKING", "ON")
    client.execute("CLIENT", "NO-EVICT", "ON")
    client.execute("CLIENT", "NO-TOUCH", "ON")
    client.execute("MULTI")
    assert client.execute("RESET") == b"+RESET\r\n"
    assert state.resp == 2
    assert state.name == b""
    assert state.db.index == 0
    assert state.feature_if_used(Transaction) is None
    assert state.feature_if_used(WatchedKeys) is None
    assert not server.instance.feature(Watchers).by_key
    pubsub = server.instance.feature(PubSub)
    assert [len(pubsub.channels), len(pubsub.patterns), len(pubsub.shard_channels)] == [0, 0, 0]
    assert not server.instance.feature(TrackingTable).states
    assert not server.instance.is_observed
    assert not state.no_evict
    assert not state.no_touch
    modes = GATE_AUTH | GATE_MULTI | GATE_SILENT | GATE_SUBSCRIBED | GATE_TRACKING
    assert not state.gates & modes


def test_reset_lets_a_resp2_subscriber_send_any_command_again(server: InProcessServer) -> None:
    client = server.connect()
    client.execute("SUBSCRIBE", "ch")
    assert client.execute("GET", "k").startswith(b"-ERR Can't execute 'get'")
    client.execute("RESET")
    assert client.execute("GET", "k") == b"$-1\r\n"


def test_reset_ends_reply_off_and_is_answered(server: InProcessServer) -> None:
    client = server.connect()
    client.execute("CLIENT", "REPLY", "OFF")
    assert client.execute("RESET") == b"+RESET\r\n"
    assert client.execute("PING") == b"+PONG\r\n"


def test_reset_itself_can_be_the_reply_that_is_skipped(server: InProcessServer) -> None:
    client = server.connect()
    client.execute("CLIENT", "REPLY", "SKIP")
    assert client.execute("RESET") == b""
    assert client.execute("PING") == b"+PONG\r\n"


def test_reset_asks_for_the_password_again() -> None:
    client = InProcessServer(requirepass="secret").connect()
    client.execute("AUTH", "secret")
    assert client.execute("RESET") == b"+RESET\r\n"
    assert client.execute("PING") == b"-NOAUTH Authentication required.\r\n"


NOAUTH = b"-NOAUTH Authentication required.\r\n"
WRONGPASS = b"-WRONGPASS invalid username-password pair or user is disabled.\r\n"


def hello_reply(head: bytes, protocol: int, client_id: int) -> bytes:
    version = REDIS_VERSION.encode()
    return head + (
        b"$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$%d\r\n%b\r\n$5\r\nproto\r\n:%d\r\n"
        b"$2\r\nid\r\n:%d\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n"
        b"$7\r\nmodules\r\n*0\r\n" % (len(version), version, protocol, client_id)
    )


@pytest.fixture
def client() -> InProcessClient:
    return InProcessServer().connect()


@pytest.fixture
def outsider() -> InProcessClient:
    """A client of a server with a password."""
    return InProcessServer(requirepass="secret").connect()


# -- AUTH ----------------------------------------------------------------------------------------


def test_without_the_password_only_the_way_in_and_out_is_open(outsider: InProcessClient) -> None:
    for request in (("GET", "k"), ("PING",), ("MULTI",), ("SUBSCRIBE", "c"), ("CLIENT", "ID")):
        assert outsider.execute(*request) == NOAUTH
    assert outsider.execute("RESET") == b"+RESET\r\n"
    assert outsider.execute("QUIT") == b"+OK\r\n"


@pytest.mark.parametrize("words", [("secret",), ("default", "secret")])
def test_the_password_opens_everything(outsider: InProcessClient, words: tuple[str, ...]) -> None:
    assert outsider.execute("AUTH", *words) == b"+OK\r\n"
    assert outsider.execute("GET", "k") == b"$-1\r\n"


@pytest.mark.parametrize(
    "words", [("wrong",), ("secre",), ("secret2",), ("",), ("default", "x"), ("other", "secret")]
)
def test_a_wrong_password_or_user_is_refused_and_counted(
    outsider: InProcessClient, words: tuple[str, ...]
) -> None:
    assert outsider.execute("AUTH", *words) == WRONGPASS
    assert outsider.execute("PING") == NOAUTH
    assert outsider.server.instance.stats.acl_access_denied_auth == 1


def test_a_failed_auth_leaves_an_authenticated_client_inside(outsider: InProcessClient) -> None:
    outsider.execute("AUTH", "secret")
    assert outsider.execute("AUTH", "wrong") == WRONGPASS
    assert outsider.execute("PING") == b"+PONG\r\n"


def test_requests_in_the_same_bytes_as_auth_run_after_it(outsider: InProcessClient) -> None:
    assert outsider.pipeline(("PING",), ("AUTH", "secret"), ("PING",)) == (
        NOAUTH + b"+OK\r\n+PONG\r\n"
    )


def test_a_new_password_does_not_touch_who_is_inside(outsider: InProcessClient) -> None:
    outsider.execute("AUTH", "secret")
    assert outsider.execute("CONFIG", "SET", "requirepass", "changed") == b"+OK\r\n"
    assert outsider.execute("PING") == b"+PONG\r\n"
    assert outsider.server.connect().execute("AUTH", "secret") == WRONGPASS


def test_auth_by_password_alone_doubts_a_server_without_one(client: InProcessClient) -> None:
    assert client.execute("AUTH", "x") == (
        b"-ERR AUTH <password> called without any password configured for the default user."
        b" Are you sure your configuration is correct?\r\n"
    )


def test_without_a_password_the_default_user_may_give_any(client: InProcessClient) -> None:
    assert client.execute("AUTH", "default", "x") == b"+OK\r\n"
    assert client.execute("AUTH", "somebody", "x") == WRONGPASS


def test_auth_takes_one_or_two_words(client: InProcessClient) -> None:
    assert client.execute("AUTH", "a", "b", "c") == b"-ERR syntax error\r\n"
    assert client.execute("AUTH") == b"-ERR wrong number of arguments for 'auth' command\r\n"


def test_a_password_of_any_characters_works() -> None:
    server = InProcessServer(requirepass="pä\udcffss")  # a byte of the file that is no UTF-8
    outsider = server.connect()
    assert outsider.execute("AUTH", "pä".encode() + b"\xffss") == b"+OK\r\n"


# -- HELLO ---------------------------------------------------------------------------------------


def test_hello_3_answers_a_map_in_the_new_protocol(client: InProcessClient) -> None:
    assert client.execute("HELLO", 3) == hello_reply(b"%7\r\n", 3, client.state.id)
    assert client.execute("GET", "k") == b"_\r\n"


def test_hello_2_answers_a_flat_array(client: InProcessClient) -> None:
    client.execute("HELLO", 3)
    assert client.execute("HELLO", 2) == hello_reply(b"*14\r\n", 2, client.state.id)
    assert client.execute("GET", "k") == b"$-1\r\n"


def test_hello_alone_keeps_the_protocol(client: InProcessClient) -> None:
    assert client.execute("HELLO") == hello_reply(b"*14\r\n", 2, client.state.id)
    client.execute("HELLO", 3)
    assert client.execute("hello") == hello_reply(b"%7\r\n", 3, client.state.id)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("4",), b"-NOPROTO unsupported protocol version\r\n"),
        (("1",), b"-NOPROTO unsupported protocol version\r\n"),
        (("abc",), b"-ERR Protocol version is not an integer or out of range\r\n"),
        (("9" * 20,), b"-ERR Protocol version is not an integer or out of range\r\n"),
        (("SETNAME", "x"), b"-ERR Protocol version is not an integer or out of range\r\n"),
        (("3", "foo"), b"-ERR Syntax error in HELLO option 'foo'\r\n"),
        (("3", "AUTH"), b"-ERR Syntax error in HELLO option 'AUTH'\r\n"),
        (("3", "auth", "x"), b"-ERR Syntax error in HELLO option 'auth'\r\n"),
        (("3", "SETNAME"), b"-ERR Syntax error in HELLO option 'SETNAME'\r\n"),
        (("3", "SETNAME", "x", "FOO"), b"-ERR Syntax error in HELLO option 'FOO'\r\n"),
        (
            ("3", "SETNAME", "a b"),
            b"-ERR Client names cannot contain spaces, newlines or special characters.\r\n",
        ),
        (("3", "AUTH", "x", "y"), WRONGPASS),
    ],
)
def test_a_hello_that_fails_changes_nothing(
    client: InProcessClient, words: tuple[str, ...], error: bytes
) -> None:
    client.execute("CLIENT", "SETNAME", "before")
    assert client.execute("HELLO", *words) == error
    assert client.state.resp == 2
    assert client.state.name == b"before"


def test_hello_sets_the_name(client: InProcessClient) -> None:
    client.execute("HELLO", 2, "SETNAME", "me")
    assert client.execute("CLIENT", "GETNAME") == b"$2\r\nme\r\n"


def test_hello_authenticates_and_names_in_one(outsider: InProcessClient) -> None:
    reply = outsider.execute("HELLO", 3, "SETNAME", "me", "AUTH", "default", "secret")
    assert reply == hello_reply(b"%7\r\n", 3, outsider.state.id)
    assert outsider.state.name == b"me"


def test_hello_of_an_outsider_asks_for_the_password(outsider: InProcessClient) -> None:
    error = (
        b"-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO"
        b" <proto> AUTH <user> <pass> option can be used to authenticate the client and select the"
        b" RESP protocol version at the same time\r\n"
    )
    assert outsider.execute("HELLO", 3) == error
    assert outsider.execute("HELLO") == error
    assert outsider.execute("HELLO", 3, "AUTH", "default", "wrong") == WRONGPASS
    assert outsider.state.resp == 2


def test_the_protocol_decides_whether_a_subscriber_may_send_any_command(
    client: InProcessClient,
) -> None:
    client.execute("HELLO", 3)
    client.execute("SUBSCRIBE", "ch")
    assert client.execute("GET", "k") == b"_\r\n"
    client.execute("HELLO", 2)
    assert client.execute("GET", "k").startswith(b"-ERR Can't execute 'get'")
