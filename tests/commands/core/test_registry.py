"""commands/core/registry.py: where the keys of a request are."""

from __future__ import annotations

import pytest

from commands.core.registry import (
    COMMANDS,
    Command,
    KeySpec,
    carried,
    counted_keys,
    propagate_carried,
    renamed,
)
from protocol.errors import ReplyError
from protocol.request import Request
from protocol.requests import Argv
from server.inprocess.server import InProcessClient, InProcessServer
from storage.append_only.requests import wrap
from tests.support.resp import parse


def test_a_key_spec_counts_from_the_front() -> None:
    assert KeySpec(begin=1).positions([b"GET", b"k"]) == [1]


def test_a_key_spec_may_run_to_the_end_in_steps() -> None:
    spec = KeySpec(begin=1, last=-1, step=2)
    assert spec.positions([b"MSET", b"a", b"1", b"b", b"2"]) == [1, 3]


def test_a_key_spec_may_begin_after_a_keyword_and_take_the_first_half() -> None:
    spec = KeySpec(begin=1, keyword=b"STREAMS", last=-1, limit=2)
    argv = [b"XREAD", b"COUNT", b"1", b"streams", b"a", b"b", b"0", b"0"]
    assert spec.positions(argv) == [4, 5]


def test_a_key_spec_that_the_arguments_do_not_reach_gives_nothing() -> None:
    assert KeySpec(begin=3).positions([b"GET", b"k"]) == []
    assert KeySpec(begin=1, keyword=b"STREAMS", last=-1, limit=2).positions([b"XREAD"]) == []


def test_an_incomplete_specification_finds_its_keys_by_a_function() -> None:
    spec = KeySpec(begin=1, find=lambda argv: [len(argv) - 1])
    assert spec.positions([b"XREAD", b"a", b"b"]) == [2]


def test_keys_may_be_counted() -> None:
    (spec,) = counted_keys(b"RO", at=2)
    assert spec.positions([b"BLMPOP", b"0", b"2", b"a", b"b", b"LEFT"]) == [3, 4]
    for number in (b"0", b"-1", b"3", b"x"):
        assert spec.positions([b"BLMPOP", b"0", number, b"a", b"b"]) == []
    assert spec.positions([b"BLMPOP", b"0"]) == []


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


CARRIER = wrap([b"xcfgset", b"s", b"ACK-JOURNAL", b"j"])


def unpacked(argv: list[bytes]) -> tuple[Command, Argv] | None:
    return carried(InProcessServer().connect().state, Request(argv))


def test_a_carrier_comes_with_its_command() -> None:
    command, request = unpacked(CARRIER) or (None, [])
    assert command is not None and command.fullname == b"xcfgset"
    assert request[1:] == [b"s", b"ACK-JOURNAL", b"j"]
    assert unpacked([b"ECHO", b"hello"]) is None


@pytest.mark.parametrize(
    "request_",
    [[b"NOSUCH", b"x"], [b"GET", b"x"], [b"SHUTDOWN"], [b"XCFGSET"], [b"\xff"]],
)
def test_what_is_carried_must_be_a_write_that_there_is(request_: list[bytes]) -> None:
    with pytest.raises(ReplyError, match="unknown here"):
        unpacked(wrap(request_))


def test_a_carrier_of_another_version_is_refused() -> None:
    with pytest.raises(ReplyError, match="in a form that is unknown"):
        unpacked([b"ECHO", b"rillway\x009*0"])


def test_a_client_cannot_send_one_and_its_echo_goes_nowhere() -> None:
    server = InProcessServer()
    client = server.connect()
    client.execute("XADD", "s", "1-1", "f", "v")
    server.propagated.clear()
    assert client.execute(*CARRIER) == b"$%d\r\n%b\r\n" % (len(CARRIER[1]), CARRIER[1])
    assert client.execute("XINFO", "POLICY", "s") == b"*0\r\n"
    assert server.propagated == []


def test_from_a_primary_it_runs() -> None:
    server = InProcessServer()
    client = server.connect()
    client.execute("XADD", "s", "1-1", "f", "v")
    client.state.replays = True
    client.execute(*CARRIER)
    assert b"ack-journal" in client.execute("XINFO", "POLICY", "s")


def test_nothing_is_built_without_a_sink() -> None:
    server = InProcessServer()
    server.instance.propagation.sinks.clear()
    client = server.connect().state
    propagate_carried(client, b"XCFGSET", b"s")
    assert not client.propagates and not client.instance.propagation.requests


def test_what_a_primary_sends_in_a_carrier_is_propagated() -> None:
    server = InProcessServer()
    client = server.connect()
    client.execute("XADD", "s", "1-1", "f", "v")
    client.execute("XGROUP", "CREATE", "s", "g", "0")
    client.execute("XGROUP", "CREATECONSUMER", "s", "g", "c")
    carrier = wrap([b"XGROUP", b"DELCONSUMER", b"s", b"g", b"c"])
    client.state.replays = True
    server.propagated.clear()
    client.execute(*carrier)
    assert server.propagated == [(0, [carrier])]
    client.execute(*carrier)  # which changes nothing any more
    assert server.propagated == [(0, [carrier])]
