"""The TLS contexts in use: created at the start, and again by CONFIG SET or when the files change.

If the new files are unusable, the old contexts stay. Open connections keep theirs.

Source: Redis 7.0; `tls-auto-reload-interval` and the fields of INFO are those of Valkey 9.1.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterator

from commands.config.configuration import Configuration
from commands.core.host import Certificate
from server.tls.contexts import TlsError, bus_context, client_context, server_context

_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
_UTC_TIME = 0x17  # two digits for the year; else four
_VERSION = 0xA0


def first_certificate(path: str, owner: str) -> Certificate | None:
    """The first certificate of a PEM file that OpenSSL has accepted; None if it is not readable."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            text = file.read()
        start = text.index(_BEGIN)
        der = ssl.PEM_cert_to_DER_cert(text[start : text.index(_END, start) + len(_END)])
        return decode(der, owner)
    except (OSError, ValueError, IndexError):
        return None


def decode(der: bytes, owner: str) -> Certificate:
    """Decode a certificate in DER. Raises ValueError or IndexError for anything else."""
    body = _content(_content(der, 0), 0)  # of the part that is signed
    place = _after(body, 0) if body[0] == _VERSION else 0
    serial = _content(body, place)
    for _ in range(3):  # the serial number, the signature algorithm, the issuer
        place = _after(body, place)
    validity = _content(body, place)
    end = _after(validity, 0)
    text = _content(validity, end).decode("ascii")
    from datetime import UTC, datetime  # not at a start without TLS

    form = "%y%m%d%H%M%SZ" if validity[end] == _UTC_TIME else "%Y%m%d%H%M%SZ"
    ends_s = int(datetime.strptime(text, form).replace(tzinfo=UTC).timestamp())
    return Certificate(owner, serial.lstrip(b"\0").hex().upper() or "0", ends_s)


def _content(data: bytes, place: int) -> bytes:
    """The content of the element at a place."""
    start, length = _bounds(data, place)
    return data[start : start + length]


def _after(data: bytes, place: int) -> int:
    """The place of the next element."""
    start, length = _bounds(data, place)
    return start + length


def _bounds(data: bytes, place: int) -> tuple[int, int]:
    """Where the content of an element begins, and its length: one byte, or a count and bytes."""
    first = data[place + 1]
    if first < 0x80:
        return place + 2, first
    start = place + 2 + (first & 0x7F)
    return start, int.from_bytes(data[place + 2 : start], "big")


_FILES = {
    "server": "tls_cert_file",
    "client": "tls_client_cert_file",
    "ca": "tls_ca_cert_file",
}
_OTHER_FILES = ("tls_key_file", "tls_client_key_file", "tls_ca_cert_dir", "tls_dh_params_file")


class Credentials:
    """The certificates of one server."""

    def __init__(self, config: Configuration, log: Callable[[str, str], None]) -> None:
        self.certificates: list[Certificate] = []  # what INFO shows
        self._config = config
        self._log = log
        self._server: ssl.SSLContext | None = None
        self._client: ssl.SSLContext | None = None
        self._bus: ssl.SSLContext | None = None
        self._seen: list[tuple[int, ...]] = []  # what distinguishes the files that are in force
        self._look_at_ms = 0

    @property
    def is_needed(self) -> bool:
        """True if any connection is encrypted."""
        config = self._config
        return bool(
            config.tls_port
            or config.tls_replication
            or config.tls_cluster
            or (config.metrics_tls and config.metrics_port)
        )

    @property
    def for_clients(self) -> ssl.SSLContext:
        """The context for connections that are accepted. There is a listener for them."""
        assert self._server is not None
        return self._server

    @property
    def for_primary(self) -> ssl.SSLContext | None:
        """The context for the link to a primary; None if that is not encrypted."""
        return self._client if self._config.tls_replication else None

    @property
    def for_accepted_nodes(self) -> ssl.SSLContext | None:
        """The context for nodes of the cluster that connect; None if the bus is not encrypted."""
        return self._bus if self._config.tls_cluster else None

    @property
    def for_dialled_nodes(self) -> ssl.SSLContext | None:
        """The context for connections to other nodes; None if the bus is not encrypted."""
        return self._client if self._config.tls_cluster else None

    def load(self) -> None:
        """Read all files. Raises TlsError; the contexts in force are then unchanged."""
        if not self.is_needed:
            return
        seen = self._marks()
        config = self._config
        server, client = server_context(config), None
        if config.tls_replication or config.tls_cluster:
            client = client_context(config)
        self._bus = bus_context(config) if config.tls_cluster else None
        self._server, self._client, self._seen = server, client, seen
        self.certificates = list(self._described())

    def reload_if_due(self, monotonic_ms: int) -> None:
        """Once in `tls-auto-reload-interval`, read the files again if one was replaced."""
        interval_s = self._config.tls_auto_reload_interval
        if not interval_s or not self.is_needed or monotonic_ms < self._look_at_ms:
            return
        self._look_at_ms = monotonic_ms + 1000 * interval_s
        seen = self._marks()
        if seen == self._seen:
            return
        try:
            self.load()
        except TlsError as error:
            self._seen = seen  # the same files are not tried again
            self._log("warning", f"TLS: the files have changed and are not usable: {error}")
            self._log("warning", "TLS: new connections get the certificate from before.")
        else:
            self._log("notice", "TLS: the files have changed, and were read again.")

    def _marks(self) -> list[tuple[int, ...]]:
        return [
            _mark(path)
            for attribute in (*_FILES.values(), *_OTHER_FILES)
            if (path := getattr(self._config, attribute))
        ]

    def _described(self) -> Iterator[Certificate]:
        for owner, attribute in _FILES.items():
            path = getattr(self._config, attribute)
            if path and (found := first_certificate(path, owner)) is not None:
                yield found


def _mark(path: str) -> tuple[int, ...]:
    """What changes when a file is replaced or written; () if it cannot be read."""
    try:
        facts = os.stat(path)
    except OSError:
        return ()
    return facts.st_dev, facts.st_ino, facts.st_mtime_ns, facts.st_size
