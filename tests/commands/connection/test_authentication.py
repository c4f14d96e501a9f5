"""AUTH and HELLO."""

from __future__ import annotations

import pytest

from commands.core.host import REDIS_VERSION
from server.inprocess.server import InProcessClient, InProcessServer

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
