"""server/tls/ and server/loop/listeners.py: clients, replicas and new certificates over sockets."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import redis
import redis.asyncio
import trustme
from cryptography.x509 import UniformResourceIdentifier

from rillway.__main__ import main as rillway
from tests.conftest import StartRillway
from tests.support.certificates import Authority, Files
from tests.support.programs.ports import free_port
from tests.support.programs.servers import RunningServer, begin_rillway
from tests.support.waiting import until

pytestmark = pytest.mark.integration

DEADLINE_SECONDS = 60.0


class Served:
    """A Rillway with a TLS port, and what its clients need."""

    def __init__(self, folder: Path, run: StartRillway, *directives: str) -> None:
        self.authority = Authority(folder)
        self.own = self.authority.issue("server")
        self.tls_port = free_port()
        self.server: RunningServer = run(
            *self.directives(self.tls_port), *("--port", str(free_port())), *directives
        )

    def directives(self, tls_port: int) -> list[str]:
        """For this server, or another with the same certificate."""
        return [
            *("--tls-port", str(tls_port)),
            *("--tls-cert-file", self.own.certificate, "--tls-key-file", self.own.key),
            *("--tls-ca-cert-file", self.authority.path),
        ]

    def options(self, shown: Files | None = None, **more: Any) -> dict[str, Any]:
        """Arguments of redis-py."""
        made: dict[str, Any] = {"port": self.tls_port, "ssl": True, "socket_timeout": 60.0}
        made |= {"host": "127.0.0.1", "ssl_ca_certs": self.authority.path}
        if shown:
            made |= {"ssl_certfile": shown.certificate, "ssl_keyfile": shown.key}
        return made | more

    def client(self, shown: Files | None = None, **more: Any) -> Any:
        return redis.Redis(**self.options(shown, **more))

    def plain(self) -> Any:
        return redis.Redis(port=self.server.port)

    def serial(self) -> str:
        """Of the certificate that a new connection is shown."""
        context = ssl.create_default_context(cafile=self.authority.path)
        with (
            socket.create_connection(("127.0.0.1", self.tls_port), timeout=60) as sock,
            context.wrap_socket(sock, server_hostname="localhost") as encrypted,
        ):
            shown: dict[str, Any] = encrypted.getpeercert() or {}
        return str(shown["serialNumber"])


@pytest.fixture
def serve(tmp_path: Path, run_rillway: StartRillway) -> Callable[..., Served]:
    return lambda *directives: Served(tmp_path, run_rillway, *directives)


@pytest.mark.parametrize("protocol", [2, 3])
def test_clients_do_over_tls_what_they_do_without(
    serve: Callable[..., Served], protocol: int
) -> None:
    served = serve()
    shown = served.authority.issue("client")
    client = served.client(shown, protocol=protocol)
    large = b"x" * 3_000_000
    assert client.set("large", large)
    assert client.get("large") == large
    with client.pipeline(transaction=False) as pipeline:
        for number in range(5_000):
            pipeline.xadd("s", {"n": number})
        assert len(pipeline.execute()) == 5_000
    assert [entry[b"n"] for _, entry in client.xrange("s", count=2)] == [b"0", b"1"]
    client.xgroup_create("s", "g", "0")
    ((_, taken),) = dict(client.xreadgroup("g", "c", {"s": ">"}, count=3)).items() or [(0, [])]
    assert taken
    subscriber = client.pubsub()
    subscriber.subscribe("news")
    assert subscriber.get_message(timeout=10.0)["type"] == "subscribe"
    client.publish("news", "hello")
    assert subscriber.get_message(timeout=10.0)["data"] == b"hello"


async def test_a_blocked_reader_is_served_over_tls(serve: Callable[..., Served]) -> None:
    served = serve("--tls-auth-clients", "no")
    client = redis.asyncio.Redis(**served.options())
    reading: asyncio.Future[Any] = asyncio.ensure_future(client.xread({"s": "$"}, block=10_000))
    async with redis.asyncio.Redis(port=served.server.port) as plain:
        while (await plain.info("clients"))["blocked_clients"] == 0:
            await asyncio.sleep(0.01)
        await plain.xadd("s", {"f": "v"})
    ((_, ((_, fields),)),) = await reading
    assert fields == {b"f": b"v"}
    await client.aclose()


def test_redis_cli_connects_with_a_certificate_and_not_without(
    serve: Callable[..., Served],
) -> None:
    served = serve()
    shown = served.authority.issue("client")
    words = ["redis-cli", "--tls", "-p", str(served.tls_port), "--cacert", served.authority.path]
    pair = ["--cert", shown.certificate, "--key", shown.key]
    assert subprocess.run([*words, *pair, "PING"], capture_output=True).stdout == b"PONG\n"
    refused = subprocess.run([*words, "PING"], capture_output=True)
    assert refused.returncode and refused.stdout == b""
    until(lambda: "Error accepting a client connection: peer did not" in served.server.output())


def test_the_tools_take_certificates_as_options_of_the_url(
    serve: Callable[..., Served], capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    served = serve()
    served.plain().xadd("s", {"a": "b"})
    shown = served.authority.issue("client")
    files = f"ssl_ca_certs={served.authority.path}&ssl_certfile={shown.certificate}"
    url = f"rediss://localhost:{served.tls_port}?{files}&ssl_keyfile={shown.key}"
    archive, dead = ["--to", str(tmp_path / "archive")], ["--to", "dead", "--more-than", "1"]
    for words, text in (
        (["top", "--once", "--every", "10ms"], "s "),
        (["lag", "--samples", "1"], "no groups"),
        (["query", "--stream", "s"], "a=b"),
        (["dead-letters", "--stream", "s", *dead], "s: no groups"),
        (["archive", "--stream", "s", *archive], "s: 1 archived"),
    ):
        assert rillway([*words, "--url", url]) == 0
        assert text in capfd.readouterr().out


def test_a_certificate_is_verified_even_where_none_is_needed(
    serve: Callable[..., Served], tmp_path: Path
) -> None:
    served = serve("--tls-auth-clients", "optional")
    foreign = Authority(tmp_path, "foreign").issue("stranger")
    with pytest.raises(redis.ConnectionError):
        served.client(foreign).ping()
    assert served.client().ping()


def test_a_plain_client_on_the_tls_port_costs_a_line_in_the_log(
    serve: Callable[..., Served],
) -> None:
    served = serve("--tls-auth-clients", "no")
    with socket.create_connection(("127.0.0.1", served.tls_port), timeout=60) as sock:
        sock.sendall(b"*1\r\n$4\r\nPING\r\n")
        assert b"PONG" not in sock.recv(100)
    until(lambda: "Error accepting a client connection: " in served.server.output())
    assert f"laddr=127.0.0.1:{served.tls_port})" in served.server.output()
    assert served.client().ping()


def test_peers_that_say_nothing_hold_nobody(serve: Callable[..., Served]) -> None:
    served = serve("--tls-auth-clients", "no")
    silent = [
        socket.create_connection(("127.0.0.1", served.tls_port), timeout=10) for _ in range(50)
    ]
    assert served.client().ping()
    assert served.plain().info("clients")["connected_clients"] <= 2
    for sock in silent:
        sock.close()
    assert served.client().ping()


def test_without_a_plain_port_only_tls_is_served(
    tmp_path: Path, serve: Callable[..., Served]
) -> None:
    served = serve("--tls-auth-clients", "no")
    port, tls_port = served.server.port, free_port()
    served.plain().config_set("tls-port", tls_port)
    served.tls_port = tls_port
    client = served.client()
    client.config_set("port", 0)
    until(lambda: not _answers(port))
    facts = client.info("server")
    assert (facts["tcp_port"], facts["listener0"]["name"]) == (tls_port, "tls")
    other = free_port()
    log = tmp_path / "alone.log"
    words = [*served.directives(other), "--port", "0", "--dir", str(tmp_path), "--save", ""]
    process = begin_rillway(log, *words, "--tls-auth-clients", "no")
    try:
        until(lambda: "Ready to accept connections: TLS port" in log.read_text())
        served.tls_port = other
        assert served.client().config_get("port") == {"port": "0"}
    finally:
        process.terminate()
        assert process.wait(DEADLINE_SECONDS) == 0


def _answers(port: int) -> bool:
    try:
        return bool(redis.Redis(port=port).ping())
    except redis.ConnectionError:
        return False


def test_config_set_reads_the_files_again_and_open_connections_stay(
    serve: Callable[..., Served],
) -> None:
    served = serve("--tls-auth-clients", "no")
    client = served.client(single_connection_client=True)
    assert client.ping()
    old = served.serial()
    served.authority.issue("server")
    assert served.serial() == old
    served.plain().config_set("tls-cert-file", served.own.certificate)
    new = served.serial()
    assert new != old
    facts = served.plain().info("tls")
    assert int(str(facts["tls_server_cert_serial"]), 16) == int(new, 16)
    assert facts["tls_server_cert_expires_in_days"] > 0
    assert client.ping()


def test_a_setting_that_is_not_usable_changes_nothing(serve: Callable[..., Served]) -> None:
    served = serve("--tls-auth-clients", "no")
    plain, serial = served.plain(), served.serial()
    with pytest.raises(redis.ResponseError) as raised:
        plain.config_set("tls-key-file", "none.key")
    assert str(raised.value) == (
        "CONFIG SET failed (possibly related to argument 'tls-key-file') - Unable to update TLS"
        " configuration. Check server logs."
    )
    assert plain.config_get("tls-key-file") == {"tls-key-file": served.own.key}
    assert served.serial() == serial
    assert "Failed to load private key: none.key: No such file" in served.server.output()


def test_replaced_files_are_noticed_if_the_server_looks(serve: Callable[..., Served]) -> None:
    served = serve("--tls-auth-clients", "no", "--tls-auto-reload-interval", "1")
    old = served.serial()
    served.authority.issue("server")
    until(lambda: served.serial() != old)
    assert "TLS: the files have changed, and were read again." in served.server.output()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--tls-port", "1"], "No tls-cert-file configured!"),
        (
            ["--tls-replication", "yes", "--tls-cert-file", "a", "--tls-key-file", "b"],
            "Either tls-ca-cert-file or tls-ca-cert-dir must be specified",
        ),
    ],
)
def test_a_start_without_usable_files_ends_with_a_line_that_says_why(
    tmp_path: Path, words: list[str], text: str
) -> None:
    log = tmp_path / "rillway.log"
    process = begin_rillway(log, "--port", "0", "--dir", str(tmp_path), *words)
    assert process.wait(DEADLINE_SECONDS) == 1
    assert text in log.read_text()
    assert "Failed to configure TLS. Check logs for more info." in log.read_text()


@pytest.mark.parametrize("primary_is_ours", [True, False])
def test_a_replica_follows_over_tls(
    tmp_path: Path,
    run_rillway: StartRillway,
    run_redis: StartRillway,
    serve: Callable[..., Served],
    primary_is_ours: bool,
) -> None:
    served = serve()
    if primary_is_ours:
        primary, port = served.plain(), served.tls_port
    else:
        port = free_port()
        primary = redis.Redis(port=run_redis(*served.directives(port)).port)
    primary.set("before", "1")
    start = run_redis if primary_is_ours else run_rillway
    own_port = free_port()
    words = [*served.directives(own_port), "--tls-replication", "yes"]
    if not primary_is_ours:
        words += ["--port", str(free_port())]
    replica = redis.Redis(port=start(*words).port)
    replica.replicaof("127.0.0.1", port)
    until(lambda: replica.info("replication")["master_link_status"] == "up")
    primary.xadd("s", {"f": "x" * 100_000})
    assert primary.wait(1, 10_000) == 1
    assert (replica.get("before"), replica.xlen("s")) == (b"1", 1)
    assert primary.info("replication")["slave0"]["port"] == own_port


def test_a_replica_does_not_follow_a_primary_of_another_authority(
    tmp_path: Path, run_rillway: StartRillway, serve: Callable[..., Served]
) -> None:
    served = serve()
    foreign = Authority(tmp_path, "foreign")
    own = foreign.issue("replica")
    server = run_rillway(
        *("--tls-replication", "yes", "--tls-cert-file", own.certificate),
        *("--tls-key-file", own.key, "--tls-ca-cert-file", foreign.path),
        *("--replicaof", f"127.0.0.1 {served.tls_port}"),
    )
    until(lambda: "certificate verify failed" in server.output())
    assert redis.Redis(port=server.port).info("replication")["master_link_status"] == "down"


def test_a_certificate_names_the_user_if_the_directive_says_so(
    serve: Callable[..., Served],
) -> None:
    served = serve("--tls-auth-clients-user", "CN")
    plain = served.plain()
    assert plain.config_get("tls-auth-clients-user") == {"tls-auth-clients-user": "CN"}
    plain.execute_command("ACL", "SETUSER", "joe", "on", ">secret", "+@all", "~joe:*")
    joe = served.client(served.authority.issue("joe", "joe"))
    assert joe.acl_whoami() == "joe"
    with pytest.raises(redis.exceptions.NoPermissionError):
        joe.get("other")
    ann = served.client(served.authority.issue("ann", "ann"))
    assert ann.acl_whoami() == "default"
    newest, _ = plain.acl_log()
    assert (newest["reason"], newest["username"]) == ("tls-cert", "ann")
    plain.execute_command("ACL", "SETUSER", "joe", "off")
    assert served.client(served.authority.issue("joe", "joe")).acl_whoami() == "default"
    assert plain.info("stats")["acl_access_denied_tls_cert"] == 2


def test_the_first_user_that_a_uri_of_the_certificate_names_is_logged_in(
    serve: Callable[..., Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain_names = trustme._identity_string_to_x509
    monkeypatch.setattr(
        trustme,
        "_identity_string_to_x509",
        lambda name: UniformResourceIdentifier(name) if ":" in name else plain_names(name),
    )
    served = serve("--tls-auth-clients-user", "URI")
    plain = served.plain()
    plain.execute_command("ACL", "SETUSER", "urn:users:off", "off", "+@all")
    plain.execute_command("ACL", "SETUSER", "urn:users:joe", "on", "resetpass", "+@all")
    names = ("localhost", "urn:users:none", "urn:users:off", "urn:users:joe")
    joe = served.client(served.authority.issue("joe", "default", names))
    assert joe.acl_whoami() == "urn:users:joe"
    ann = served.client(served.authority.issue("ann", "urn:users:joe", names[:2]))
    assert ann.acl_whoami() == "default"
    newest, *_ = plain.acl_log()
    assert (newest["reason"], newest["username"]) == ("tls-cert", "urn:users:none")


def test_a_replica_asks_its_primary_for_the_name_that_the_directive_says(
    run_rillway: StartRillway, serve: Callable[..., Served]
) -> None:
    served = serve()
    server = run_rillway(
        *served.directives(free_port()),
        *("--port", str(free_port()), "--tls-replication", "yes"),
        *("--tls-expected-peer-name", "primary.local"),
        *("--replicaof", f"127.0.0.1 {served.tls_port}"),
    )
    until(lambda: "tls-expected-peer-name is primary.local" in server.output())
    replica = redis.Redis(port=server.port)
    assert replica.info("replication")["master_link_status"] == "down"
    replica.config_set("tls-expected-peer-name", "primary.local localhost")
    until(lambda: replica.info("replication")["master_link_status"] == "up")


def encrypted(served: Served) -> ssl.SSLSocket:
    context = ssl.create_default_context(cafile=served.authority.path)
    sock = socket.create_connection(("127.0.0.1", served.tls_port), timeout=DEADLINE_SECONDS)
    return context.wrap_socket(sock, server_hostname="localhost")


def test_what_a_client_leaves_unread_is_seen_and_limited(serve: Callable[..., Served]) -> None:
    served = serve("--tls-auth-clients", "no")
    plain = served.plain()
    plain.set("k", b"x" * 1_000_000)
    # Without a limit, requests would wait until what is unread was read.
    plain.config_set("client-output-buffer-limit", "normal 100mb 0 0")
    with encrypted(served) as slow:
        slow.sendall(b"CLIENT SETNAME slow\r\n" + b"GET k\r\n" * 30)
        until(lambda: any(int(one["omem"]) > 15_000_000 for one in plain.client_list()))
        plain.config_set("client-output-buffer-limit", "normal 10mb 0 0")
        slow.sendall(b"GET k\r\n")
        until(lambda: all(one["name"] != "slow" for one in plain.client_list()))
    assert plain.info("stats")["client_output_buffer_limit_disconnections"] == 1


@pytest.mark.parametrize("says_so", [True, False])
def test_a_client_that_has_closed_its_side_is_answered_completely(
    serve: Callable[..., Served], says_so: bool
) -> None:
    """With a close_notify or by the end of TCP only."""
    served = serve("--tls-auth-clients", "no")
    with served.server.connect() as plain:
        plain.pipeline([("XADD", "s", f"{ms}-1", "f", "x" * 100) for ms in range(1, 20_001)])
        entries = plain.send("XRANGE", "s", "-", "+")
    context = ssl.create_default_context(cafile=served.authority.path)
    received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = context.wrap_bio(received, sent, server_hostname="localhost")
    address = ("127.0.0.1", served.tls_port)
    with socket.create_connection(address, timeout=DEADLINE_SECONDS) as sock:
        while True:
            try:
                session.do_handshake()
                break
            except ssl.SSLWantReadError:
                sock.sendall(sent.read())
                received.write(sock.recv(65536))
        session.write(b"XRANGE s - +\r\nSET after 1\r\nXRANGE s - +\r\nPING\r\n")
        if says_so:
            with pytest.raises(ssl.SSLWantReadError):
                session.unwrap()
        sock.sendall(sent.read())  # the requests and the end, at once
        sock.shutdown(socket.SHUT_WR)
        while data := sock.recv(65536):
            received.write(data)
    replies = b""
    with contextlib.suppress(ssl.SSLError):
        while data := session.read(65536):
            replies += data
    assert replies == entries + b"+OK\r\n" + entries + b"+PONG\r\n"
    assert served.plain().get("after") == b"1"


def test_handshakes_count_in_maxclients(serve: Callable[..., Served]) -> None:
    served = serve("--tls-auth-clients", "no", "--maxclients", "20")
    silent = [
        socket.create_connection(("127.0.0.1", served.tls_port), timeout=10) for _ in range(60)
    ]
    until(lambda: served.plain().info("stats")["rejected_connections"] >= 40)
    assert _descriptors(served.server) < 60
    for sock in silent:
        sock.close()
    until(lambda: bool(served.client().ping()))


def _descriptors(server: RunningServer) -> int:
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))


def test_many_failed_handshakes_cost_one_line_of_the_log(serve: Callable[..., Served]) -> None:
    served = serve("--tls-auth-clients", "no")
    for _ in range(1000):
        with socket.create_connection(("127.0.0.1", served.tls_port), timeout=60) as stranger:
            stranger.sendall(b"PING\r\n")
            with contextlib.suppress(ConnectionResetError):
                while stranger.recv(100):
                    pass
    assert served.client().ping()
    lines = [line for line in served.server.output().split("\n") if "Error accepting" in line]
    assert len(lines) <= 2, lines[:5]  # the second one counts the others
    assert "Error accepting a client connection: " in lines[0]


def test_addresses_of_both_ports_can_be_changed(serve: Callable[..., Served]) -> None:
    served = serve("--tls-auth-clients", "no")
    plain = served.plain()
    tls_port, port = served.tls_port, served.server.port
    for words in ("*", "* -::*", "127.0.0.1", "* 127.0.0.1", "0.0.0.0"):
        if words == "* 127.0.0.1":
            with pytest.raises(redis.ResponseError, match="Failed to bind"):
                plain.config_set("bind", words)
        else:
            plain.config_set("bind", words)
        assert served.client().ping() and served.plain().ping()
    plain.config_set("port", tls_port, "tls-port", port)
    served.tls_port, served.server.port = port, tls_port
    assert served.client().ping() and served.plain().ping()


def test_a_port_that_is_changed_twice_at_once_is_the_last_one(
    serve: Callable[..., Served],
) -> None:
    served = serve("--tls-auth-clients", "no")
    first, last = free_port(), free_port()
    with served.server.connect() as client:
        client.pipeline([("CONFIG", "SET", "port", first), ("CONFIG", "SET", "port", last)])
    until(lambda: _answers(last))
    until(lambda: not _answers(first))
