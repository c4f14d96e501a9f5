"""Which entries a stream keeps: XCFGSET key RETAIN-MS ... Rillway's own."""

from __future__ import annotations

from commands.core.client import Client
from commands.streams.policies.report import STREAM_FIELDS, Fields
from storage.stream import Stream


def _fields(client: Client, key: bytes, stream: Stream) -> Fields:
    retention = stream.policy.retention if stream.policy is not None else None
    if retention is not None:
        for option, text in retention.settings().items():
            yield option.decode().lower(), int(text) if text.isdigit() else text


STREAM_FIELDS.append(_fields)
