"""The settings of OpenSSL that the `tls-` directives describe, for both sides of a connection.

Each call reads the files and makes a new context; open connections keep their own.

What Python's ssl module cannot set has no effect, and the log says so: tls-ciphersuites (of TLS
1.3) and the cache of sessions keep OpenSSL's defaults.

Source: redis.conf of Redis 7.0 and later; the texts are those of redis-server 7.0.15.
"""

from __future__ import annotations

import ssl
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from commands.config.configuration import Configuration


class NamedPeerContext(ssl.SSLContext):
    """A context whose handshakes fail unless the peer's certificate has an expected name."""

    expected_names: Sequence[str] = ()


class _NamedPeer(ssl.SSLObject):
    """The state of one connection of such a context."""

    def do_handshake(self) -> None:
        super().do_handshake()
        context = self.context
        assert isinstance(context, NamedPeerContext)
        if context.expected_names:
            check_names(self.getpeercert() or {}, context.expected_names)


NamedPeerContext.sslobject_class = _NamedPeer


def check_names(certificate: Mapping[str, Any], expected: Sequence[str]) -> None:
    """Raise SSLCertVerificationError unless the certificate has one of these names."""
    alternatives = certificate.get("subjectAltName", ())
    names = [value for kind, value in alternatives if kind == "DNS"]
    if not names:
        subject = certificate.get("subject", ())
        names = [value for part in subject for kind, value in part if kind == "commonName"]
    addresses = [value.strip() for kind, value in alternatives if kind == "IP Address"]
    if any(_has(wanted, names, addresses) for wanted in expected):
        return
    shown = ", ".join([*names, *addresses]) or "no name"
    raise ssl.SSLCertVerificationError(
        f"certificate verify failed: the peer's certificate is of {shown},"
        f" tls-expected-peer-name is {' '.join(expected)}"
    )


def _has(wanted: str, names: Sequence[str], addresses: Sequence[str]) -> bool:
    from ipaddress import ip_address  # not at a start without TLS

    try:
        address = ip_address(wanted)
    except ValueError:
        return any(_matches(wanted.lower(), name.lower()) for name in names)
    return any(ip_address(each) == address for each in addresses)


def _matches(wanted: str, name: str) -> bool:
    """Return True if `name`, of a certificate, is `wanted` or a pattern for it."""
    if not name.startswith("*."):
        return wanted == name
    first, _, rest = wanted.partition(".")
    return bool(first) and "." in rest and rest == name[2:]


VERSIONS = {
    "tlsv1": ssl.TLSVersion.TLSv1,
    "tlsv1.1": ssl.TLSVersion.TLSv1_1,
    "tlsv1.2": ssl.TLSVersion.TLSv1_2,
    "tlsv1.3": ssl.TLSVersion.TLSv1_3,
}
_DEFAULT_VERSIONS = "TLSv1.2 TLSv1.3"
# How a version between two others is left out.
_WITHOUT = {
    ssl.TLSVersion.TLSv1_1: ssl.OP_NO_TLSv1_1,
    ssl.TLSVersion.TLSv1_2: ssl.OP_NO_TLSv1_2,
}
_CERTIFICATES_WANTED = {
    "no": ssl.CERT_NONE,
    "optional": ssl.CERT_OPTIONAL,
    "yes": ssl.CERT_REQUIRED,
}


class TlsError(Exception):
    """TLS cannot be configured so; the text is for the log."""


def server_context(config: Configuration) -> ssl.SSLContext:
    """The context for connections that are accepted. Raises TlsError."""
    return _accepting(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), config)


_Context = TypeVar("_Context", bound=ssl.SSLContext)


def _accepting(context: _Context, config: Configuration) -> _Context:
    _check_files(config)
    context.verify_mode = _CERTIFICATES_WANTED[config.tls_auth_clients]
    context.options |= ssl.OP_NO_RENEGOTIATION  # during which nothing could be written
    _configure(context, config)
    _load_certificate(context, config.tls_cert_file, config.tls_key_file, config.tls_key_file_pass)
    if config.tls_prefer_server_ciphers:
        context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
    else:
        context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    if path := config.tls_dh_params_file:
        try:
            context.load_dh_params(path)
        except OSError as error:
            raise TlsError(f"Failed to load {path}: {reason_of(error)}") from None
    return context


def client_context(config: Configuration) -> ssl.SSLContext:
    """The context for connections to other servers. Raises TlsError.

    The certificate's chain is verified, and a name in it if `tls-expected-peer-name` asks for one.
    Without a certificate for clients this one shows that of the server.
    """
    _check_files(config)
    context = NamedPeerContext(ssl.PROTOCOL_TLS_CLIENT)
    context.expected_names = config.tls_expected_peer_name.split()
    context.check_hostname = False
    _configure(context, config)
    if config.tls_client_cert_file and config.tls_client_key_file:
        _load_certificate(
            context,
            config.tls_client_cert_file,
            config.tls_client_key_file,
            config.tls_client_key_file_pass,
        )
    else:
        _load_certificate(
            context, config.tls_cert_file, config.tls_key_file, config.tls_key_file_pass
        )
    return context


def bus_context(config: Configuration) -> ssl.SSLContext:
    """The context for other nodes of a cluster that connect. Raises TlsError.

    As in Redis they must show a certificate of the authority, whatever `tls-auth-clients` says, and
    with a name that `tls-expected-peer-name` lists: nothing else protects the bus.
    """
    context = _accepting(NamedPeerContext(ssl.PROTOCOL_TLS_SERVER), config)
    context.verify_mode = ssl.CERT_REQUIRED
    context.expected_names = config.tls_expected_peer_name.split()
    return context


def needs_authority(config: Configuration) -> bool:
    """Return True if certificates of others are to be verified."""
    return config.tls_auth_clients != "no" or config.tls_replication or config.tls_cluster


def _check_files(config: Configuration) -> None:
    if not config.tls_cert_file:
        raise TlsError("No tls-cert-file configured!")
    if not config.tls_key_file:
        raise TlsError("No tls-key-file configured!")
    if needs_authority(config) and not (config.tls_ca_cert_file or config.tls_ca_cert_dir):
        raise TlsError(
            "Either tls-ca-cert-file or tls-ca-cert-dir must be specified when tls-cluster,"
            " tls-replication or tls-auth-clients are enabled!"
        )


def _configure(context: ssl.SSLContext, config: Configuration) -> None:
    """What both sides share: versions, authorities, ciphers."""
    _choose_versions(context, config.tls_protocols or _DEFAULT_VERSIONS)
    file, folder = config.tls_ca_cert_file or None, config.tls_ca_cert_dir or None
    if file or folder:
        try:
            context.load_verify_locations(file, folder)
        except OSError as error:
            text = "Failed to configure CA certificate(s) file/directory"
            places = ", ".join(filter(None, (file, folder)))
            raise TlsError(f"{text}: {places}: {reason_of(error)}") from None
    if config.tls_ciphers:
        try:
            context.set_ciphers(config.tls_ciphers)
        except ssl.SSLError:
            raise TlsError(f"Failed to configure ciphers: {config.tls_ciphers}") from None


def _choose_versions(context: ssl.SSLContext, names: str) -> None:
    try:
        chosen = {VERSIONS[name] for name in names.lower().split()}
        lowest, highest = min(chosen), max(chosen)
    except (KeyError, ValueError):
        raise TlsError(
            "Invalid tls-protocols specified. Use a combination of 'TLSv1', 'TLSv1.1', 'TLSv1.2'"
            " and 'TLSv1.3'."
        ) from None
    with warnings.catch_warnings():
        # Python deprecates the old versions; here an operator asks for them.
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version, context.maximum_version = lowest, highest
        for version, option in _WITHOUT.items():
            if lowest < version < highest and version not in chosen:
                context.options |= option


def _load_certificate(context: ssl.SSLContext, path: str, key_path: str, password: str) -> None:
    """Load a certificate with its key. Raises TlsError, which names the file that is to blame."""
    for kind, file in (("certificate", path), ("private key", key_path)):
        try:
            with open(file, "rb"):
                pass
        except OSError as error:
            raise TlsError(f"Failed to load {kind}: {file}: {reason_of(error)}") from None
    try:
        # A password that is always given: OpenSSL would ask for one at the terminal.
        context.load_cert_chain(path, key_path, lambda: password)
    except ssl.SSLError as error:
        kind, file = ("private key", key_path) if _is_pem(path) else ("certificate", path)
        raise TlsError(f"Failed to load {kind}: {file}: {reason_of(error)}") from None


def _is_pem(path: str) -> bool:
    """Return True if a file holds a certificate that OpenSSL can read."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(path)
    except OSError:
        return False
    return True


def reason_of(error: OSError) -> str:
    """The text of an error, without the place in Python's source."""
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.replace("_", " ").lower()
    return error.strerror or str(error) or type(error).__name__
