"""Ports in use are named, those of the bus as well."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from rillway.cluster.member import ClusterFailed
from rillway.cluster.ports import check_free, free_port, is_taken
from tests.support.programs.ports import free_ports


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which somebody listens, of which the bus is free, as that of the port below is."""
    port = free_ports(1)
    with socket.create_server(("127.0.0.1", port)):
        yield port


def test_a_port_in_use_is_named(taken: int) -> None:
    assert is_taken(taken)
    with pytest.raises(ClusterFailed, match=f"the port is in use: {taken}. Another"):
        check_free([taken], "Another")


def test_the_port_of_a_bus_is_named_with_its_node(taken: int) -> None:
    port = taken - 10_000
    with pytest.raises(ClusterFailed, match=rf"{taken} \(the bus of {port}\)"):
        check_free([port], "")


def test_a_port_without_room_for_the_bus_is_refused() -> None:
    with pytest.raises(ClusterFailed, match="port 55536 is too high"):
        check_free([55_536], "")


def test_a_free_port_is_not_taken() -> None:
    ports = {free_port() for _ in range(10)}
    assert len(ports) == 10
    assert not any(map(is_taken, ports))
    first = free_ports(3)
    check_free(range(first, first + 3), "")
