"""server/tls/contexts.py: what each directive sets, and what is wrong with files."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest

from commands.config.configuration import Configuration
from server.tls.contexts import (
    NamedPeerContext,
    TlsError,
    bus_context,
    check_names,
    client_context,
    server_context,
)
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


@pytest.fixture
def config(tmp_path: Path) -> Configuration:
    """A server's own certificate, and the authority that issued it."""
    authority = Authority(tmp_path)
    files = authority.issue("server")
    made = Configuration()
    made.tls_cert_file, made.tls_key_file = files.certificate, files.key
    made.tls_ca_cert_file = authority.path
    return made


@pytest.mark.parametrize(
    ("setting", "mode"),
    [("yes", ssl.CERT_REQUIRED), ("optional", ssl.CERT_OPTIONAL), ("no", ssl.CERT_NONE)],
)
def test_clients_show_a_certificate_as_the_directive_says(
    config: Configuration, setting: str, mode: ssl.VerifyMode
) -> None:
    config.set("tls-auth-clients", [setting])
    assert server_context(config).verify_mode is mode


def test_other_servers_are_verified_but_not_their_names(config: Configuration) -> None:
    config.set("tls-auth-clients", ["no"])
    made = client_context(config)
    assert (made.verify_mode, made.check_hostname) == (ssl.CERT_REQUIRED, False)


@pytest.mark.parametrize(
    ("names", "lowest", "highest"),
    [
        ("", "TLSv1_2", "TLSv1_3"),
        ("TLSv1.3", "TLSv1_3", "TLSv1_3"),
        ("tlsv1.2 TLSv1.1", "TLSv1_1", "TLSv1_2"),
    ],
)
def test_versions_are_those_that_are_named(
    config: Configuration, names: str, lowest: str, highest: str
) -> None:
    config.set("tls-protocols", [names])
    made = server_context(config)
    assert (made.minimum_version, made.maximum_version) == (
        ssl.TLSVersion[lowest],
        ssl.TLSVersion[highest],
    )


def test_a_version_in_the_middle_can_be_left_out(config: Configuration) -> None:
    config.set("tls-protocols", ["TLSv1.1 TLSv1.3"])
    options = server_context(config).options
    assert options & ssl.OP_NO_TLSv1_2
    assert not options & ssl.OP_NO_TLSv1_1


def test_ciphers_and_who_prefers_them(config: Configuration) -> None:
    assert not server_context(config).options & ssl.OP_CIPHER_SERVER_PREFERENCE
    config.set("tls-ciphers", ["ECDHE-ECDSA-AES128-GCM-SHA256"])
    config.set("tls-prefer-server-ciphers", ["yes"])
    made = server_context(config)
    assert made.options & ssl.OP_CIPHER_SERVER_PREFERENCE
    old = [one["name"] for one in made.get_ciphers() if one["protocol"] != "TLSv1.3"]
    assert old == ["ECDHE-ECDSA-AES128-GCM-SHA256"]


@pytest.mark.parametrize(
    ("directives", "text"),
    [
        ({"tls-cert-file": ""}, "No tls-cert-file configured!"),
        ({"tls-key-file": ""}, "No tls-key-file configured!"),
        (
            {"tls-ca-cert-file": ""},
            "Either tls-ca-cert-file or tls-ca-cert-dir must be specified when tls-cluster,"
            " tls-replication or tls-auth-clients are enabled!",
        ),
        (
            {"tls-cert-file": "none.crt"},
            "Failed to load certificate: none.crt: No such file or directory",
        ),
        (
            {"tls-key-file": "none.key"},
            "Failed to load private key: none.key: No such file or directory",
        ),
        (
            {"tls-ca-cert-file": "none.pem"},
            "Failed to configure CA certificate(s) file/directory: none.pem:"
            " No such file or directory",
        ),
        (
            {"tls-protocols": "TLSv1.2 SSLv3"},
            "Invalid tls-protocols specified. Use a combination of 'TLSv1', 'TLSv1.1', 'TLSv1.2'"
            " and 'TLSv1.3'.",
        ),
        ({"tls-protocols": " "}, "Invalid tls-protocols specified. Use a combination of"),
        ({"tls-ciphers": "x"}, "Failed to configure ciphers: x"),
        ({"tls-dh-params-file": "none"}, "Failed to load none: No such file or directory"),
    ],
)
def test_what_is_wrong_is_named_in_redis_words(
    config: Configuration, directives: dict[str, str], text: str
) -> None:
    for name, value in directives.items():
        config.set(name, [value])
    with pytest.raises(TlsError) as raised:
        server_context(config)
    assert str(raised.value).startswith(text)


def test_no_authority_is_needed_where_nobody_is_verified(config: Configuration) -> None:
    config.set("tls-ca-cert-file", [""])
    config.set("tls-auth-clients", ["no"])
    server_context(config)
    config.set("tls-replication", ["yes"])
    with pytest.raises(TlsError):
        server_context(config)


def test_a_key_of_another_certificate_is_blamed_and_so_is_a_broken_certificate(
    config: Configuration, tmp_path: Path
) -> None:
    other = Authority(tmp_path, "other").issue("other")
    own = config.tls_key_file
    config.tls_key_file = other.key
    with pytest.raises(TlsError, match=f"Failed to load private key: {other.key}: key values"):
        server_context(config)
    config.tls_key_file = own
    broken = tmp_path / "broken.crt"
    broken.write_text("no certificate")
    config.tls_cert_file = str(broken)
    with pytest.raises(TlsError, match=f"Failed to load certificate: {broken}: "):
        server_context(config)


def test_a_key_with_a_password_needs_it_and_nobody_is_asked(
    config: Configuration, tmp_path: Path
) -> None:
    from cryptography.hazmat.primitives import serialization

    key = serialization.load_pem_private_key(Path(config.tls_key_file).read_bytes(), None)
    locked = tmp_path / "locked.key"
    locked.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    config.tls_key_file = str(locked)
    with pytest.raises(TlsError, match="Failed to load private key"):
        server_context(config)
    config.set("tls-key-file-pass", ["secret"])
    server_context(config)


def test_outgoing_connections_have_a_certificate_of_their_own_if_both_files_are_named(
    config: Configuration,
) -> None:
    config.set("tls-client-cert-file", ["none.crt"])
    client_context(config)  # the server's, as in Redis
    config.set("tls-client-key-file", ["none.key"])
    with pytest.raises(TlsError, match="Failed to load certificate: none"):
        client_context(config)
