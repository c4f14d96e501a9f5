"""The options of writing and reading snapshots and DUMP payloads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from protocol.records import frozen_record
from storage.redis_format.encoding_limits import EncodingLimits
from storage.snapshot import opcodes


@frozen_record
class SnapshotOptions:
    """The options of writing snapshots and payloads."""

    compress: bool = True  # rdbcompression
    checksum: bool = True  # rdbchecksum; payloads always have one
    stream_type: int | None = None  # 15, 19, 21, 26 or 27; None: what the content needs
    # For Valkey 9, together with stream_type 21: hashes with times of fields in Valkey's own form.
    for_valkey: bool = False
    # Whether files keep how long keys were not used, or how often they are (maxmemory-policy).
    keeps_idle_times: bool = False
    keeps_frequencies: bool = False

    @property
    def newest_version(self) -> int | None:
        """The version of the format that every value has to fit into; None: any.

        It follows from a fixed type of stream. State that the version cannot express is left out.
        """
        fixed = self.stream_type
        return None if fixed is None or self.for_valkey else opcodes.STREAM_VERSIONS[fixed]

    def allows(self, version: int) -> bool:
        """Return True if types that a version of the format introduced may be written."""
        fixed = self.stream_type
        return fixed is None or version <= opcodes.STREAM_VERSIONS[fixed]


@frozen_record
class Reading:
    """The options of decoding."""

    now_ms: int
    access_ms: int  # of the values that are made
    trusted: bool = False  # a checksum has shown that the bytes are as they were written
    limits: EncodingLimits = field(default_factory=EncodingLimits)
    # Fields of hashes by the template that the file names them by; payloads have none.
    templates: dict[int, list[bytes]] = field(default_factory=dict)
    # Whether to refuse what Redis 8.10 refuses and is put right otherwise (stream_refusals.py).
    strict: bool = False
    # Where a decoder puts the checks that take long; None: they are made before it returns.
    checks: list[Iterator[None]] | None = None
