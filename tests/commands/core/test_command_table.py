"""rename-command: by which names a server's commands are called, shown, checked and replayed."""

from __future__ import annotations

import pytest

from commands.core.command_table import renamed
from commands.core.registry import COMMANDS
from server.inprocess.server import InProcessClient, InProcessServer
from tests.support.resp import parse

RENAMED = """SET store
DEL ""
CONFIG cfg
xadd ADD-ENTRY
auth login
ECHO say
pfcount guess
persist keep"""


@pytest.fixture
def server() -> InProcessServer:
    return InProcessServer(rename_command=RENAMED)


@pytest.fixture
def client(server: InProcessServer) -> InProcessClient:
    return server.connect()


def propagated(server: InProcessServer) -> list[bytes]:
    return [b" ".join(argv) for _, unit in server.propagated for argv in unit]


def test_a_command_answers_to_its_new_name_in_any_spelling(client: InProcessClient) -> None:
    assert client.execute("STORE", "k", "v") == b"+OK\r\n"
    assert client.execute("sToRe", "k", "v") == b"+OK\r\n"
    assert client.execute("cfg", "get", "hz") == b"*2\r\n$2\r\nhz\r\n$2\r\n10\r\n"


@pytest.mark.parametrize("name", ["SET", "set", "DEL", "del", "CONFIG"])
def test_the_old_name_is_unknown(client: InProcessClient, name: str) -> None:
    text = b"-ERR unknown command '%b', with args beginning with: 'k' \r\n" % name.encode()
    assert client.execute(name, "k") == text


def test_servers_do_not_share_their_names(client: InProcessClient) -> None:
    other = InProcessServer(rename_command="GET fetch").connect()
    assert other.execute("SET", "k", "v") == b"+OK\r\n"
    assert other.execute("fetch", "k") == b"$1\r\nv\r\n"
    assert client.execute("GET", "k") == b"$-1\r\n"
    assert InProcessServer().connect().execute("GET", "k") == b"$-1\r\n"


def test_errors_name_what_was_typed_only_where_no_command_is_known(client: InProcessClient) -> None:
    assert client.execute("cfg", "no") == b"-ERR unknown subcommand 'no'. Try CFG HELP.\r\n"
    wrong = b"-ERR wrong number of arguments for '%b' command\r\n"
    assert client.execute("cfg", "get") == wrong % b"config|get"
    assert client.execute("store") == wrong % b"set"


def test_statistics_have_the_original_name(
    client: InProcessClient, server: InProcessServer
) -> None:
    client.execute("store", "k", "v")
    assert server.instance.stats.of(COMMANDS[b"set"]).calls == 1
    assert client.state.last_command == b"set"


def test_command_looks_names_up_as_clients_do(client: InProcessClient) -> None:
    count = len(COMMANDS) - 1
    assert client.execute("COMMAND", "COUNT") == b":%d\r\n" % count
    assert len(parse(client.execute("COMMAND")).items) == count
    old, new = parse(client.execute("COMMAND", "INFO", "set", "store")).items
    assert old.items == () and new.items[0].text == b"set"
    listed = {item.text for item in parse(client.execute("COMMAND", "LIST")).items}
    assert {b"set", b"config|get"} <= listed and not listed & {b"store", b"del"}
    assert parse(client.execute("COMMAND", "DOCS", "store")).items[0].text == b"set"
    assert client.execute("COMMAND", "DOCS", "set") == b"*0\r\n"
    assert client.execute("COMMAND", "GETKEYS", "store", "k", "v") == b"*1\r\n$1\r\nk\r\n"
    assert client.execute("COMMAND", "GETKEYS", "set", "k", "v").startswith(b"-ERR Invalid command")
    assert parse(client.execute("LATENCY", "HISTOGRAM", "command", "store")).items


def test_access_control_lists_have_original_names(client: InProcessClient) -> None:
    assert client.execute("ACL", "SETUSER", "u", "on", ">p", "+store").startswith(b"-ERR Error in")
    client.execute("ACL", "SETUSER", "u", "on", ">p", "+get", "+del", "~*")
    assert client.execute("ACL", "DRYRUN", "u", "set", "k", "v").startswith(b"-ERR Command 'set'")
    assert b"'set' command" in client.execute("ACL", "DRYRUN", "u", "store", "k", "v")
    members = {item.text for item in parse(client.execute("ACL", "CAT", "write")).items}
    assert {b"set", b"del"} <= members and b"store" not in members
    assert client.execute("login", "u", "p") == b"+OK\r\n"
    assert client.execute("store", "k", "v") == (
        b"-NOPERM User u has no permissions to run the 'set' command\r\n"
    )


def test_passwords_are_hidden_behind_a_new_name(
    client: InProcessClient, server: InProcessServer
) -> None:
    client.execute("cfg", "set", "slowlog-log-slower-than", "0")
    client.execute("cfg", "set", "requirepass", "secret")
    assert b"secret" not in client.execute("SLOWLOG", "GET")
    assert b"(redacted)" in client.execute("SLOWLOG", "GET")


def test_scripts_use_the_names_of_clients(client: InProcessClient, server: InProcessServer) -> None:
    assert client.execute("EVAL", "return redis.call('store', 'k', 'v')", 0) == b"+OK\r\n"
    assert client.execute("EVAL", "return redis.call('Store', 'k', 'v')", 0) == b"+OK\r\n"
    assert b"Unknown Redis command" in client.execute("EVAL", "redis.call('SET', 'k', 'v')", 0)
    assert propagated(server) == [b"store k v", b"Store k v"]


def test_transactions_use_the_names_of_clients(client: InProcessClient) -> None:
    client.execute("MULTI")
    assert client.execute("store", "k", "v") == b"+QUEUED\r\n"
    assert client.execute("EXEC") == b"*1\r\n+OK\r\n"
    client.execute("MULTI")
    assert client.execute("set", "k", "v").startswith(b"-ERR unknown command")
    assert client.execute("EXEC").startswith(b"-EXECABORT")


def test_requests_are_propagated_as_typed_and_rewritten_ones_by_the_original_name(
    client: InProcessClient, server: InProcessServer
) -> None:
    for text in (
        "Store k v", "store k v EX 10", "keep k", "store k v KEEPTTL", "store k w NX GET",
        "add-entry s 1-* f v", "add-entry s MAXLEN ~ 9 2-1 f v", "PFADD h a", "guess h",
        "EXPIRE k 10", "GETEX k PERSIST", "GETDEL k",
    ):  # fmt: skip
        client.execute(*text.split())
    deadline = server.now_ms + 10_000
    assert propagated(server) == [
        b"Store k v", b"SET k v PXAT %d" % deadline, b"keep k", b"store k v KEEPTTL",
        b"add-entry s 1-0 f v", b"add-entry s MAXLEN = 2 2-1 f v", b"PFADD h a", b"guess h",
        b"PEXPIREAT k %d" % deadline, b"PERSIST k", b"DEL k",
    ]  # fmt: skip


def test_the_file_is_read_whichever_name_a_request_has() -> None:
    names = "XADD add-entry\nSET store\nMULTI m\nEXEC e\nSELECT db"
    server = InProcessServer(appendonly="yes", rename_command=names)
    client = server.connect()
    client.execute("store", "k", "v", "EX", 100)
    client.execute("m")
    client.execute("add-entry", "s", "1-1", "f", "v")
    client.execute("Add-Entry", "s", "1-2", "f", "v")
    client.execute("e")
    client.execute("db", 1)
    client.execute("store", "k", "w")
    client = server.restart().connect()
    assert client.execute("XLEN", "s") == b":2\r\n"
    assert client.execute("TTL", "k") == b":100\r\n"
    client.execute("db", 1)
    assert client.execute("GET", "k") == b"$1\r\nw\r\n"


def test_a_blocked_client_is_served_under_a_new_name() -> None:
    server = InProcessServer(rename_command="XREAD listen\nBLPOP take")
    reader, taker, writer = server.connect(), server.connect(), server.connect()
    reader.execute("listen", "BLOCK", 0, "STREAMS", "s", "$")
    taker.execute("take", "l", 0)
    writer.execute("XADD", "s", "1-1", "f", "v")
    writer.execute("RPUSH", "l", "x")
    assert b"1-1" in reader.received() and b"$1\r\nx" in taker.received()


def test_what_a_primary_sends_may_have_either_name(server: InProcessServer) -> None:
    client = server.connect()
    client.state.replays = True
    for text in ("SET a 1", "store b 1", "DEL a"):
        assert not client.execute(*text.split()).startswith(b"-")
    assert client.execute("DBSIZE") == b":1\r\n"


def test_names_change_one_after_the_other() -> None:
    table = renamed([("get", "X"), ("SET", "get"), ("x", "")])
    assert table[b"get"] is COMMANDS[b"set"] and b"set" not in table and b"x" not in table
    assert renamed([("get", "GET")]) == COMMANDS


@pytest.mark.parametrize(
    ("pairs", "reason"),
    [
        ([("nonsense", "x")], "No such command in rename-command"),
        ([("config|get", "x")], "No such command in rename-command"),
        ([("get", ""), ("get", "x")], "No such command in rename-command"),
        ([("get", "SET")], "Target command name already exists"),
    ],
)
def test_impossible_names_are_refused(pairs: list[tuple[str, str]], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        renamed(pairs)
