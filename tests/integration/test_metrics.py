"""server/metrics/endpoint.py over real sockets."""

from __future__ import annotations

import base64
import http.client
import shutil
import socket
import ssl
import subprocess
import threading
from typing import Any

import pytest
import redis

from tests.conftest import StartRillway
from tests.server.metrics.pages import parsed, value
from tests.support.certificates import Authority
from tests.support.programs.ports import free_port
from tests.support.programs.servers import RunningServer
from tests.support.waiting import until

pytestmark = pytest.mark.integration

# What promtool finds wrong with the names that redis_exporter has chosen. There are no others.
MISNOMERS = {
    "abbreviated units": {
        "aof_current_rewrite_duration_sec", "aof_last_rewrite_duration_sec",
        "current_eviction_exceeded_time_ms", "eviction_exceeded_time_ms_total",
        "expire_cycle_cpu_time_ms_total", "instantaneous_eventloop_cycles_per_sec",
        "rdb_current_bgsave_duration_sec", "rdb_last_bgsave_duration_sec",
    },
    'should have "_total"': {
        "aof_delayed_fsync", "defrag_hits", "defrag_key_hits", "defrag_key_misses",
        "defrag_misses", "dump_payload_sanitizations", "io_threaded_reads_processed",
        "io_threaded_writes_processed", "lazyfreed_objects", "replica_partial_resync_accepted",
        "replica_partial_resync_denied", "replica_resyncs_full", "total_error_replies",
        "total_reads_processed", "total_writes_processed", "unexpected_error_replies",
    },
    'should not have "_total"': {"memory_used_vm_total", "migrate_cached_sockets_total"},
}  # fmt: skip


class Served:
    """A Rillway with an endpoint, and its clients."""

    def __init__(self, run: StartRillway, *directives: str) -> None:
        self.port = free_port()
        words = ("--metrics-port", str(self.port), *directives)
        self.server: RunningServer = run(*words)
        self.redis: Any = redis.Redis(port=self.server.port)

    def get(
        self,
        path: str = "/metrics",
        *,
        method: str = "GET",
        port: int = 0,
        context: ssl.SSLContext | None = None,
        **headers: str,
    ) -> tuple[int, str]:
        """The status and the body of an answer."""
        connection: http.client.HTTPConnection
        address = "127.0.0.1", port or self.port
        if context is None:
            connection = http.client.HTTPConnection(*address, timeout=60)
        else:
            connection = http.client.HTTPSConnection(*address, timeout=10, context=context)
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        status, body = answer.status, answer.read().decode()
        connection.close()
        return status, body

    def open(self, port: int = 0) -> socket.socket:
        return socket.create_connection(("127.0.0.1", port or self.port), timeout=60)


@pytest.fixture
def served(run_rillway: StartRillway) -> Served:
    return Served(run_rillway)


def login(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


def test_a_page_has_what_the_server_knows(served: Served) -> None:
    served.redis.xadd("orders", {"item": "lamp"})
    status, body = served.get()
    assert status == 200
    assert value(parsed(body), "redis_stream_length", db="db0", stream="orders") == 1


def test_promtool_finds_nothing_but_the_misnomers_of_redis_exporter(
    run_rillway: StartRillway,
) -> None:
    served = Served(run_rillway, "--appendonly", "yes", "--metrics-latency-groups", "*")
    served.redis.xadd("orders", {"item": "lamp"})
    served.redis.xgroup_create("orders", "mailers", "0")
    served.redis.xreadgroup("mailers", "anna", {"orders": ">"})
    assert shutil.which("promtool"), "promtool is missing: apt-get install prometheus"
    page = served.get()[1]
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=page, capture_output=True, text=True
    )
    found = set((done.stdout + done.stderr).splitlines())
    known = {
        line
        for line in found
        for text, names in MISNOMERS.items()
        if text in line and line.split()[0].removeprefix("redis_") in names
    }
    assert found - known == set()
    assert len(known) == sum(map(len, MISNOMERS.values()))


def test_probes_answer_and_nothing_else_does(served: Served) -> None:
    assert served.get("/healthz") == (200, "ok\n")
    assert served.get("/readyz") == (200, "ok\n")
    assert served.get("/")[0] == 404
    assert served.get("/metrics/..")[0] == 404
    assert served.get(method="POST")[0] == 405
    served.redis.config_set("replica-serve-stale-data", "no")
    served.redis.replicaof("127.0.0.1", 1)
    status, reason = served.get("/readyz")
    assert (status, "link to the primary" in reason) == (503, True)


def test_a_server_that_loads_lives_and_is_not_ready(
    run_rillway: StartRillway, tmp_path: Any
) -> None:
    first = run_rillway("--dir", str(tmp_path))
    with redis.Redis(port=first.port) as client:
        client.mset({f"k{number}": "v" for number in range(2000)})
        client.save()
    first.stop()
    from tests.support.programs.servers import begin_rillway

    port, log = free_port(), tmp_path / "log"
    words = ("--port", "0", "--dir", str(tmp_path), "--key-load-delay", "2000")
    process = begin_rillway(log, *words, "--metrics-port", str(port))
    try:
        served = Served.__new__(Served)
        served.port = port
        until(lambda: _answers(served), "the endpoint answers")
        assert served.get("/healthz")[0] == 200
        assert served.get("/readyz") == (503, "the data is being loaded\n")
        assert value(parsed(served.get()[1]), "redis_loading_dump_file") == 1
    finally:
        process.kill()
        process.wait()


def _answers(served: Served) -> bool:
    try:
        return served.get("/healthz")[0] == 200
    except OSError:
        return False


def test_metrics_ask_for_the_password_of_a_user_and_probes_do_not(served: Served) -> None:
    served.redis.acl_setuser("prom", enabled=True, passwords=["+secret"])
    served.redis.config_set("metrics-user", "prom")
    assert served.get("/healthz")[0] == 200
    assert served.get(Authorization=login("prom", "secret"))[0] == 200
    refused = ["", "Bearer x", "Basic %", login("prom", "wrong"), login("default", ""),
               login("prom", ""), login("none", "secret")]  # fmt: skip
    for header in refused:
        assert served.get(Authorization=header)[0] == 401
    assert served.redis.acl_log(1)[0]["object"] == "metrics"
    served.redis.acl_setuser("prom", enabled=False)
    assert served.get(Authorization=login("prom", "secret"))[0] == 401
    served.redis.config_set("metrics-user", "nobody")
    assert served.get(Authorization=login("nobody", ""))[0] == 401


def test_metrics_may_be_encrypted(run_rillway: StartRillway, tmp_path: Any) -> None:
    authority = Authority(tmp_path)
    own = authority.issue("server")
    served = Served(
        run_rillway, "--metrics-tls", "yes", "--tls-auth-clients", "no",
        "--tls-cert-file", own.certificate, "--tls-key-file", own.key,
    )  # fmt: skip
    context = ssl.create_default_context(cafile=authority.path)
    context.check_hostname = False
    assert served.get(context=context)[0] == 200
    for number in range(300):
        served.redis.xadd(f"stream:{number}", {"f": "v"})
    assert len(served.get("/metrics", context=context)[1]) > 10_000
    served.redis.config_set("metrics-tls", "no")
    assert served.get()[0] == 200


def test_config_set_moves_the_endpoint(served: Served) -> None:
    other = free_port()
    served.redis.config_set("metrics-port", other)
    assert served.get(port=other)[0] == 200
    assert not _answers(served)
    with pytest.raises(redis.ResponseError, match="Unable to listen"):
        served.redis.config_set("metrics-port", served.server.port)
    assert served.redis.config_get("metrics-port") == {"metrics-port": str(other)}
    assert served.get(port=other)[0] == 200
    with pytest.raises(redis.ResponseError, match="TLS"):
        served.redis.config_set("metrics-tls", "yes")
    assert served.get(port=other)[0] == 200
    served.redis.config_set("metrics-port", 0)
    served.port = other
    assert not _answers(served)


def test_without_a_user_a_foreign_name_gets_no_metrics(served: Served) -> None:
    for host in ("evil.example", f"evil.example:{served.port}", ""):
        status, body = served.get(Host=host)
        assert (status, body) == (
            403,
            "unknown Host: name it in metrics-bind, or set metrics-user\n",
        )
    assert served.get("/healthz", Host="evil.example")[0] == 200
    assert served.get(Host=f"localhost:{served.port}")[0] == 200
    assert served.get(Host=f"10.0.0.7:{served.port}")[0] == 200
    served.redis.acl_setuser("prom", enabled=True, passwords=["+a"])
    served.redis.config_set("metrics-user", "prom")
    assert served.get(Host="evil.example")[0] == 401
    assert served.get(Host="evil.example", Authorization=login("prom", "a"))[0] == 200


def test_addresses_of_the_metrics_that_overlap_are_refused_and_the_old_ones_stay(
    served: Served,
) -> None:
    with pytest.raises(redis.ResponseError, match="Unable to listen"):
        served.redis.config_set("metrics-bind", "* 127.0.0.1")
    assert served.get()[0] == 200
    served.redis.config_set("metrics-bind", "*")
    assert served.get()[0] == 200


def test_the_log_says_where_the_metrics_are_and_who_may_read_them(served: Served) -> None:
    assert f"Metrics: http://127.0.0.1:{served.port}/metrics" in served.server.output()
    served.redis.config_set("metrics-bind", "*")
    assert "Without metrics-user" in served.server.output()


def test_silent_connections_make_room_for_others(served: Served) -> None:
    silent = [served.open() for _ in range(40)]
    for each in silent:
        each.sendall(b"GET /metrics HTTP/1.1\r\n")
    assert served.get()[0] == 200
    assert served.redis.ping()
    assert served.redis.info("clients")["connected_clients"] == 1
    for each in silent:
        each.close()


def test_who_does_not_read_holds_nobody(run_rillway: StartRillway) -> None:
    served = Served(run_rillway, "--metrics-max-streams", "10000")
    with served.redis.pipeline(transaction=False) as pipe:
        for number in range(5000):
            pipe.xadd(f"stream:{number}", {"f": "v"})
        pipe.execute()
    deaf = [served.open() for _ in range(16)]  # each that is allowed
    for each in deaf:
        each.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
    pages: list[str] = []
    readers = [threading.Thread(target=lambda: pages.append(served.get()[1])) for _ in range(4)]
    for reader in readers:
        reader.start()
    assert served.redis.ping()
    for reader in readers:
        reader.join()
    assert len(set(pages)) == 1
    assert len(pages[0]) > 1_000_000
    for each in deaf:
        each.close()


@pytest.mark.parametrize("data", [b"", b"\x00" * 10_000, b"PING\r\n\r\n", b"\x16\x03\x01\r\n\r\n"])
def test_what_is_no_request_is_answered_and_closed(served: Served, data: bytes) -> None:
    with served.open() as sock:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        answer = sock.recv(1000)
    assert answer.startswith(b"HTTP/1.1 400 ") if data else answer == b""


def test_an_endpoint_that_cannot_listen_stops_the_start(run_rillway: StartRillway) -> None:
    from tests.support.programs.servers import ServerFailed

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ServerFailed, match=r"Could not start.*Address already in use"):
            run_rillway("--metrics-port", str(taken.getsockname()[1]))
