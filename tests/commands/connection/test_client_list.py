"""CLIENT LIST and CLIENT INFO."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessClient, InProcessServer

# Redis 8.10's fields, in its order.
FIELDS = [
    "id", "addr", "laddr", "fd", "name", "age", "idle", "flags", "db", "sub", "psub", "ssub",
    "multi", "watch", "qbuf", "qbuf-free", "argv-mem", "multi-mem", "rbs", "rbp", "obl", "oll",
    "omem", "omem-shared", "omem-unshared", "tot-mem", "events", "cmd", "user", "redir", "resp",
    "lib-name", "lib-ver", "io-thread", "tot-net-in", "tot-net-out", "tot-cmds", "read-events",
    "avg-pipeline-len-sum", "avg-pipeline-len-cnt",
]  # fmt: skip


def lines(reply: bytes) -> list[dict[str, str]]:
    """The clients of a RESP2 reply, in order."""
    _, text, end = reply.split(b"\r\n")
    assert end == b""
    assert text == b"" or text.endswith(b"\n")
    return [
        dict(field.split("=", 1) for field in line.split(" "))
        for line in text.decode().splitlines()
    ]


def info(client: InProcessClient) -> dict[str, str]:
    (line,) = lines(client.execute("CLIENT", "INFO"))
    return line


def listed(viewer: InProcessClient, client: InProcessClient) -> dict[str, str]:
    (line,) = lines(viewer.execute("CLIENT", "LIST", "ID", client.state.id))
    return line


def test_the_fields_are_those_of_redis_in_its_order(client: InProcessClient) -> None:
    assert list(info(client)) == FIELDS
    assert listed(client, client).keys() == info(client).keys()


def test_a_new_connection_says_who_and_where_it_is(client: InProcessClient) -> None:
    line = info(client)
    assert line["id"] == str(client.state.id)
    assert line["addr"] == f"127.0.0.1:{10000 + client.state.id}"
    assert line["laddr"] == "127.0.0.1:6379"
    assert (line["name"], line["user"], line["resp"], line["db"]) == ("", "default", "2", "0")
    assert (line["flags"], line["multi"], line["redir"]) == ("N", "-1", "-1")
    assert (line["lib-name"], line["lib-ver"]) == ("", "")
    assert line["cmd"] == "client|info"
    assert line["argv-mem"] == str(len("CLIENTINFO"))


def test_in_resp3_the_lines_are_a_verbatim_string(client: InProcessClient) -> None:
    client.execute("HELLO", 3)
    for request in (("CLIENT", "INFO"), ("CLIENT", "LIST")):
        reply = client.execute(*request)
        assert reply.startswith(b"=")
        assert b"\r\ntxt:id=1 " in reply
        assert b" resp=3 " in reply


def test_age_and_idle_are_whole_seconds(server: InProcessServer) -> None:
    client, viewer = server.connect(), server.connect()
    assert listed(viewer, client)["cmd"] == "NULL"
    server.advance(2999)
    client.execute("PING")
    server.advance(5000)
    line = listed(viewer, client)
    assert (line["age"], line["idle"], line["cmd"]) == ("7", "5", "ping")


def test_the_line_counts_subscriptions_and_watched_keys(server: InProcessServer) -> None:
    client, viewer = server.connect(), server.connect()
    client.execute("WATCH", "a", "b", "a")
    client.execute("SUBSCRIBE", "c1", "c2")
    client.execute("PSUBSCRIBE", "p")
    client.execute("SSUBSCRIBE", "s1", "s2", "s3")
    line = listed(viewer, client)
    counts = [line[name] for name in ("sub", "psub", "ssub", "watch", "flags")]
    assert counts == ["2", "1", "3", "2", "P"]


def test_the_line_shows_an_open_transaction(server: InProcessServer) -> None:
    client, viewer = server.connect(), server.connect()
    client.pipeline(("MULTI",), ("SET", "key", "value"), ("PING",))
    line = listed(viewer, client)
    assert (line["multi"], line["flags"]) == ("2", "x")
    assert line["multi-mem"] == str(len("SETkeyvaluePING"))


def test_the_line_shows_the_transaction_that_runs(client: InProcessClient) -> None:
    client.pipeline(("MULTI",), ("CLIENT", "INFO"))
    reply = client.execute("EXEC")
    assert b" flags=x " in reply
    assert b" multi=1 " in reply
    assert b" cmd=exec " in reply


def test_every_mode_has_its_letter(server: InProcessServer) -> None:
    viewer, blocked, tracking = server.connect(), server.connect(), server.connect()
    blocked.execute("XREAD", "BLOCK", 0, "STREAMS", "s", "$")
    assert listed(viewer, blocked)["flags"] == "b"
    tracking.execute("CLIENT", "TRACKING", "ON", "BCAST", "REDIRECT", viewer.state.id)
    tracking.execute("WATCH", "k")
    viewer.execute("SET", "k", "v")
    line = listed(viewer, tracking)
    assert (line["flags"], line["redir"]) == ("tBd", str(viewer.state.id))
    tracking.unix_socket = True
    assert listed(viewer, tracking)["flags"] == "tBdU"


def test_a_client_that_waits_is_blocked_and_its_request_is_counted(server: InProcessServer) -> None:
    viewer, blocked, held = server.connect(), server.connect(), server.connect()
    blocked.execute("BLPOP", "l", "0")
    viewer.execute("CLIENT", "PAUSE", "1000", "WRITE")
    held.pipeline(("MULTI",), ("SET", "a", "1"))
    shown = [listed(viewer, client) for client in (blocked, held)]
    assert [(line["flags"], line["argv-mem"]) for line in shown] == [("b", "7"), ("xb", "5")]
    server.advance(1000)
    line = listed(viewer, held)
    assert (line["flags"], line["argv-mem"], line["multi-mem"]) == ("x", "0", "5")


def test_an_unfinished_request_is_seen_in_the_query_buffer(server: InProcessServer) -> None:
    client, viewer = server.connect(), server.connect()
    client.feed(b"*2\r\n$4\r\nECHO\r\n$100\r\nabc")
    assert int(listed(viewer, client)["qbuf"]) > 0


def test_output_that_waits_is_counted(server: InProcessServer) -> None:
    client, viewer = server.connect(), server.connect()
    client.execute("SUBSCRIBE", "ch")
    replies = viewer.pipeline(("PUBLISH", "ch", "x" * 1000), ("CLIENT", "LIST", "TYPE", "pubsub"))
    (line,) = lines(replies.removeprefix(b":1\r\n"))
    assert (line["oll"], line["events"]) == ("1", "rw")
    assert int(line["omem"]) > 1000
    assert int(line["tot-mem"]) > int(line["omem"])


def counted(viewer: InProcessClient, client: InProcessClient) -> tuple[int, ...]:
    """Commands, reads, requests that were parsed together, and how often."""
    line = listed(viewer, client)
    names = ("tot-cmds", "read-events", "avg-pipeline-len-sum", "avg-pipeline-len-cnt")
    return tuple(int(line[name]) for name in names)


def test_the_line_counts_bytes_that_came_in_reads_and_commands(server: InProcessServer) -> None:
    client, viewer = server.connect(), server.connect()
    ping = b"*1\r\n$4\r\nPING\r\n"
    client.feed(ping * 10)
    line = listed(viewer, client)
    assert line["tot-net-in"] == str(len(ping) * 10)
    assert counted(viewer, client) == (10, 1, 10, 1)
    client.feed(ping[:5])
    assert counted(viewer, client) == (10, 2, 10, 1)
    client.feed(ping[5:])
    assert counted(viewer, client) == (11, 3, 11, 2)


def test_commands_of_transactions_and_scripts_count_and_refused_requests_do_not(
    server: InProcessServer,
) -> None:
    client, viewer = server.connect(), server.connect()
    client.pipeline(("MULTI",), ("SET", "a", "1"), ("SET", "a", "2"), ("EXEC",))
    assert counted(viewer, client) == (4, 1, 4, 1)
    client.execute("EVAL", "redis.call('set', 'a', 1); return redis.call('get', 'a')", 0)
    assert counted(viewer, client)[0] == 7
    for refused in (("NOPE",), ("GET",)):
        client.execute(*refused)
    assert counted(viewer, client) == (7, 4, 7, 4)
    client.execute("LPUSH", "a", "wrong type")
    assert counted(viewer, client)[0] == 8


def test_a_blocked_command_counts_when_it_is_served(server: InProcessServer) -> None:
    clients, viewer = [server.connect() for _ in range(3)], server.connect()
    for client in clients:
        client.execute("XREAD", "BLOCK", 0, "STREAMS", "s", "$")
    clients[2].send(b"PING\r\nPING\r\n")
    assert [counted(viewer, client) for client in clients] == [(0, 1, 1, 1)] * 2 + [(0, 2, 1, 1)]
    viewer.execute("XADD", "s", "*", "f", "v")
    assert [counted(viewer, client) for client in clients] == [(1, 1, 1, 1)] * 2 + [(3, 2, 3, 2)]


def test_list_is_in_the_order_of_ids(server: InProcessServer) -> None:
    clients = [server.connect() for _ in range(3)]
    clients[0].disconnect()
    ids = [line["id"] for line in lines(clients[2].execute("CLIENT", "LIST"))]
    assert ids == ["2", "3"]


def test_list_by_type_separates_subscribers_from_others(server: InProcessServer) -> None:
    normal, subscriber = server.connect(), server.connect()
    subscriber.execute("SSUBSCRIBE", "sh")

    def ids(kind: str) -> list[str]:
        return [line["id"] for line in lines(normal.execute("CLIENT", "LIST", "TYPE", kind))]

    assert ids("normal") == ["1"]
    assert ids("PubSub") == ["2"]
    assert ids("master") == ids("replica") == ids("slave") == []


def test_list_by_id_leaves_out_who_is_not_there(server: InProcessServer) -> None:
    client, other = server.connect(), server.connect()
    reply = client.execute("CLIENT", "LIST", "ID", other.state.id, 99, client.state.id, -1)
    assert [line["id"] for line in lines(reply)] == ["2", "1"]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("FOO",), b"-ERR syntax error\r\n"),
        (("TYPE",), b"-ERR syntax error\r\n"),
        (("TYPE", "x"), b"-ERR Unknown client type 'x'\r\n"),
        (("TYPE", "normal", "normal"), b"-ERR syntax error\r\n"),
        (("ID",), b"-ERR syntax error\r\n"),
        (("ID", "x"), b"-ERR Invalid client ID\r\n"),
        (("TYPE", "normal", "ID", "1"), b"-ERR syntax error\r\n"),
    ],
)
def test_list_refuses_other_filters(
    server: InProcessServer, words: tuple[str, ...], error: bytes
) -> None:
    assert server.connect().execute("CLIENT", "LIST", *words) == error
