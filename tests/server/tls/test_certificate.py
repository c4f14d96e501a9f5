"""server/tls/certificate.py: serial number and end, beside what a library reads."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st

from server.tls.certificate import decode, first_certificate
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
