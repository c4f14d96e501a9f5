"""Leases, with a real server."""

from __future__ import annotations

import pytest

from rillway.pipeline.archive.lease import Leases
from rillway.pipeline.wire.capabilities import Capabilities
from rillway.pipeline.wire.connection import Connection, ConnectionLost, ServerError, pack

KEYS = {name: f"__archive:x:lease:{{{name}}}" for name in ("orders", "payments")}
KEY = KEYS["orders"]


def leases(connection: Connection, *names: str) -> Leases:
    return Leases(connection.url, {name: KEYS[name] for name in names or KEYS}, "archiving {}")


def test_leases_that_others_hold_are_left_out_and_reported(link: Connection) -> None:
    with leases(link, "orders"), leases(link) as second:
        assert second.held == ["payments"]
        assert list(second.taken) == ["orders"]
        assert "archiving orders: " in str(second.taken["orders"])
        assert " process " in str(second.taken["orders"])
        assert second.check(["payments"]) == {}


def test_they_are_given_back(link: Connection) -> None:
    for _ in range(2):
        with leases(link) as held:
            assert held.held == list(KEYS)
            assert held.check(KEYS) == {}
    assert link.call("EXISTS", *KEYS.values()) == 0


@pytest.mark.parametrize("has_scripts", [True, False])
def test_they_are_given_back_after_an_exception(
    link: Connection, monkeypatch: pytest.MonkeyPatch, has_scripts: bool
) -> None:
    """Whatever it has interrupted. The one that another holder has is left."""
    monkeypatch.setattr(Capabilities, "has_command", lambda self, name: has_scripts)
    link.call("SET", KEYS["payments"], "another holder")
    with pytest.raises(KeyboardInterrupt), leases(link) as held:
        held._connection.send(pack("GET", KEY))
        raise KeyboardInterrupt
    assert link.call("EXISTS", KEY) == 0
    assert link.call("GET", KEYS["payments"]) == b"another holder"


def test_they_are_given_back_when_one_cannot_be_taken(link: Connection) -> None:
    link.call("ACL", "SETUSER", "quiet", "on", ">secret", f"~{KEY}", "+@all")
    with (
        Connection(link.url.replace("//", "//quiet:secret@")) as quiet,
        pytest.raises(ServerError, match="NOPERM"),
        leases(quiet),
    ):
        pass
    assert link.call("EXISTS", *KEYS.values()) == 0


def test_they_are_given_back_when_the_connection_was_lost(link: Connection) -> None:
    with leases(link) as held:
        link.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        assert held.check(KEYS) == {}
        link.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    assert link.call("EXISTS", *KEYS.values()) == 0


def test_they_are_renewed_after_a_renewal_has_failed(redis_link: Connection) -> None:
    with leases(redis_link) as held:
        held._connection.close()
        with pytest.raises(ConnectionLost):
            held._connection.call("PING")
        held._renew(held.held)
        assert held.check(KEYS) == {}


def test_one_of_very_long_is_renewed_as_well(redis_link: Connection) -> None:
    for_ages = Leases(redis_link.url, KEYS, "archiving {}", 100_000_000 * 86_400_000)
    with for_ages as held:
        held._renewer.join(0.1)
        assert held._renewer.is_alive()
        assert held.check(KEYS) == {}


@pytest.mark.parametrize("change", [("DEL", KEY), ("SET", KEY, "another holder")])
def test_a_lost_one_is_noticed(redis_link: Connection, change: tuple[str, ...]) -> None:
    with leases(redis_link) as held:
        redis_link.call(*change)
        lost = held.check(KEYS)
        assert list(lost) == ["orders"]
        assert "archiving orders: the lease was lost" in str(lost["orders"])


def test_another_holders_key_is_left_alone(redis_link: Connection) -> None:
    with leases(redis_link):
        redis_link.call("SET", KEY, "another holder")
    assert redis_link.call("GET", KEY) == b"another holder"
    assert redis_link.call("EXISTS", KEYS["payments"]) == 0


def test_they_expire_by_themselves(redis_link: Connection) -> None:
    with leases(redis_link):
        assert 0 < redis_link.call("PTTL", KEY) <= 30_000
