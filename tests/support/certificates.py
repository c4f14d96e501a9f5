"""Certificates for tests of TLS: an authority, and what it and another one have issued."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import trustme


@dataclass(frozen=True)
class Files:
    """A certificate with its key."""

    certificate: str
    key: str


class Authority:
    """An authority; its own certificate is in `path`."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._ca = trustme.CA()
        self._folder = folder
        self.path = str(folder / f"{name}.pem")
        self._ca.cert_pem.write_to_path(self.path)

    def issue(
        self,
        name: str,
        common_name: str | None = None,
        names: tuple[str, ...] = ("localhost", "127.0.0.1"),
    ) -> Files:
        """A certificate for this machine, in files called `name`; they are replaced if there."""
        issued = self._ca.issue_cert(*names, common_name=common_name)
        files = Files(str(self._folder / f"{name}.crt"), str(self._folder / f"{name}.key"))
        issued.private_key_pem.write_to_path(files.key)
        chain = b"".join(blob.bytes() for blob in issued.cert_chain_pems)
        Path(files.certificate).write_bytes(chain)
        return files
