"""server/tls/peer_names.py: which certificates of other servers are accepted."""

from __future__ import annotations

import ssl
from typing import Any

import pytest

from commands.config.configuration import Configuration
from server.tls.contexts import bus_context, client_context, server_context
from server.tls.peer_names import NamedPeerContext, check_names
from tests.support.certificates import Authority, Files


def certificate(*names: str, common_name: str = "", **others: str) -> dict[str, Any]:
    """A certificate as ssl describes it."""
    alternatives = [("DNS", name) for name in names]
    alternatives += [(kind.replace("_", " "), value) for kind, value in others.items()]
    return {
        "subject": ((("commonName", common_name),),) if common_name else (),
        "subjectAltName": tuple(alternatives),
    }


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (certificate("redis.local"), ["redis.local"]),
        (certificate("other", "Redis.Local"), ["nobody", "redis.LOCAL"]),
        (certificate("*.example.com"), ["node.example.com"]),
        (certificate(common_name="redis.local"), ["redis.local"]),
        (certificate(IP_Address="10.0.0.7"), ["10.0.0.7"]),
        (certificate(IP_Address="0:0:0:0:0:0:0:1"), ["::1"]),
    ],
)
def test_one_of_the_names_is_enough(shown: dict[str, Any], expected: list[str]) -> None:
    check_names(shown, expected)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (certificate("redis.local"), ["redis.loca", "xredis.local"]),
        (certificate("*.example.com"), ["example.com", "a.b.example.com", ".example.com"]),
        (certificate("*.com"), ["example.com"]),
        (certificate("r*.example.com"), ["redis.example.com"]),
        (certificate("*"), ["redis"]),
        (certificate("other", common_name="redis.local"), ["redis.local"]),
        (certificate("10.0.0.7"), ["10.0.0.7"]),
        (certificate(IP_Address="10.0.0.7"), ["10.0.0.8", "redis.local"]),
        (certificate(URI="redis.local", email="redis.local"), ["redis.local"]),
        (certificate(common_name="admin\0innocent"), ["admin"]),
        ({}, ["redis.local"]),
    ],
)
def test_without_any_of_the_names_the_certificate_is_refused(
    shown: dict[str, Any], expected: list[str]
) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="tls-expected-peer-name is "):
        check_names(shown, expected)


class End:
    """One end of a connection in memory."""

    def __init__(self, context: ssl.SSLContext, *, is_server: bool) -> None:
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.ssl = context.wrap_bio(self.incoming, self.outgoing, server_side=is_server)

    def go_on(self) -> bool:
        """Return True when the handshake is done."""
        try:
            self.ssl.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext) -> None:
    ends = End(client, is_server=False), End(server, is_server=True)
    done = [False, False]
    while not all(done):
        for index, end in enumerate(ends):
            done[index] = done[index] or end.go_on()
            ends[1 - index].incoming.write(end.outgoing.read())


def configured(own: Files, authority: Authority, expected: str) -> Configuration:
    config = Configuration()
    config.tls_cert_file, config.tls_key_file = own.certificate, own.key
    config.tls_ca_cert_file = authority.path
    config.set("tls-expected-peer-name", [expected])
    return config


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_both_sides_of_the_bus_and_the_side_that_dials_ask_for_the_name(
    tmp_path: Any, version: str
) -> None:
    authority = Authority(tmp_path)
    node = authority.issue("node", names=("node.local",))
    stranger = authority.issue("stranger", names=("stranger.local",))
    asking = configured(node, authority, "node.local")
    trusting = configured(stranger, authority, "")
    for config in (asking, trusting):
        config.set("tls-protocols", [version])
    shake_hands(bus_context(asking), client_context(asking))
    shake_hands(server_context(asking), client_context(trusting))  # a client on the data port
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(bus_context(asking), client_context(trusting))
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(server_context(trusting), client_context(asking))
    assert not isinstance(server_context(asking), NamedPeerContext)


def test_names_are_separated_by_blanks_and_nothing_else() -> None:
    config = Configuration()
    for text in ("", "a.example b.example"):
        config.set("tls-expected-peer-name", [text])
        assert config.get("tls-expected-peer-name") == text
    for text, reason in (("a\tb", "whitespace"), ("a\n", "whitespace"), ("  ", "no usable name")):
        with pytest.raises(ValueError, match=reason):
            config.set("tls-expected-peer-name", [text])
