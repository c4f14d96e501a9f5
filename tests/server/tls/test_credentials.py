"""server/tls/credentials.py: files that change while a server runs."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st

from commands.config.configuration import Configuration
from server.tls.contexts import TlsError
from server.tls.credentials import Credentials, decode, first_certificate
from tests.support.certificates import Authority


def test_serial_and_end_are_those_that_a_library_reads(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    for path in (authority.path, authority.issue("server").certificate):
        read = x509.load_pem_x509_certificates(Path(path).read_bytes())[0]
        found = first_certificate(path, "server")
        assert found is not None
        assert int(found.serial, 16) == read.serial_number
        assert found.ends_s == int(read.not_valid_after_utc.timestamp())


def test_years_have_two_digits_before_2050_and_four_after(tmp_path: Path) -> None:
    der = ssl.PEM_cert_to_DER_cert(Path(Authority(tmp_path).path).read_text())
    found = decode(der, "ca")
    end = datetime.fromtimestamp(found.ends_s, UTC)
    assert end.strftime("%Y%m%d%H%M%SZ").encode() in der
    four = b"\x18\x0f" + end.strftime("%Y%m%d%H%M%SZ").encode()
    short = der.replace(four, b"\x17\x0d491231235959Z\0\0")
    assert datetime.fromtimestamp(decode(short, "ca").ends_s, UTC).year == 2049


def test_a_file_without_a_certificate_has_none(tmp_path: Path) -> None:
    path = tmp_path / "none.pem"
    assert first_certificate(str(path), "ca") is None
    path.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    assert first_certificate(str(path), "ca") is None


@given(data=st.binary(max_size=200))
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises((ValueError, IndexError)):
        decode(data, "ca")


class Served:
    """Credentials on files, and what they log."""

    def __init__(self, folder: Path) -> None:
        self.authority = Authority(folder)
        self.config = Configuration()
        self.log: list[str] = []
        self.credentials = Credentials(self.config, lambda level, text: self.log.append(text))
        files = self.authority.issue("server")
        self.config.tls_cert_file, self.config.tls_key_file = files.certificate, files.key
        self.config.tls_ca_cert_file = self.authority.path
        self.config.tls_port = 1

    @property
    def serial(self) -> str:
        return self.credentials.certificates[0].serial


@pytest.fixture
def served(tmp_path: Path) -> Served:
    return Served(tmp_path)


def test_nothing_is_read_where_nothing_is_encrypted(served: Served) -> None:
    served.config.tls_port = 0
    served.config.tls_cert_file = "none"
    served.credentials.load()
    served.credentials.reload_if_due(0)
    assert (served.credentials.for_primary, served.credentials.certificates) == (None, [])


def test_the_link_to_a_primary_is_encrypted_if_the_directive_says_so(served: Served) -> None:
    served.credentials.load()
    assert served.credentials.for_primary is None
    served.config.tls_replication = True
    served.credentials.load()
    assert served.credentials.for_primary is not None


def test_new_files_that_are_not_usable_leave_the_old_contexts(served: Served) -> None:
    served.credentials.load()
    context, serial = served.credentials.for_clients, served.serial
    served.config.tls_key_file = "none"
    with pytest.raises(TlsError):
        served.credentials.load()
    assert (served.credentials.for_clients, served.serial) == (context, serial)


def test_replaced_files_are_read_again_once_in_an_interval(served: Served) -> None:
    served.config.tls_auto_reload_interval = 2
    served.credentials.load()
    old = served.serial
    served.credentials.reload_if_due(1_000)
    served.authority.issue("server")
    served.credentials.reload_if_due(2_999)
    assert served.serial == old
    served.credentials.reload_if_due(3_000)
    assert served.serial != old
    assert served.log == ["TLS: the files have changed, and were read again."]
    served.credentials.reload_if_due(9_000)
    assert len(served.log) == 1


def test_files_that_are_replaced_by_broken_ones_are_reported_once(served: Served) -> None:
    served.config.tls_auto_reload_interval = 1
    served.credentials.load()
    old, context = served.serial, served.credentials.for_clients
    Path(served.config.tls_key_file).write_text("broken")
    for now_ms in (1_000, 2_000, 3_000):
        served.credentials.reload_if_due(now_ms)
    assert (served.serial, served.credentials.for_clients, len(served.log)) == (old, context, 2)
    assert "not usable" in served.log[0]
    served.authority.issue("server")
    served.credentials.reload_if_due(4_000)
    assert served.serial != old


def test_without_an_interval_files_are_not_looked_at(served: Served) -> None:
    served.credentials.load()
    old = served.serial
    served.authority.issue("server")
    served.credentials.reload_if_due(1 << 50)
    assert served.serial == old


def test_nodes_of_a_cluster_show_certificates_whatever_clients_need(served: Served) -> None:
    served.config.tls_auth_clients = "no"
    served.credentials.load()
    assert served.credentials.for_accepted_nodes is None
    assert served.credentials.for_dialled_nodes is None
    served.config.tls_cluster = True
    served.credentials.load()
    accepted = served.credentials.for_accepted_nodes
    assert accepted is not None
    assert accepted.verify_mode == ssl.CERT_REQUIRED
    assert served.credentials.for_clients.verify_mode == ssl.CERT_NONE
    assert served.credentials.for_dialled_nodes is not None
