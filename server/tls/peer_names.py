"""The names that certificates of other servers must have: `tls-expected-peer-name`.

OpenSSL can ask for one name, and of the side that dials only; the directive may list several, and
is for nodes of a cluster that connect as well. So the names are compared here, in the handshake,
after the chain was verified. They come from the configuration only, never from the other server.

A name is compared with the alternative names of the certificate (a DNS name, or an address), and
with its common name if it has no alternative DNS name. A `*` stands for a whole first label.

Source: redis#15492 (Redis 8.10).
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Any


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
