"""Streams in snapshots and payloads: which of their types, and what reads and writes them.

The types themselves are in storage/snapshot/stream_encoder.py and stream_decoder.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from storage.redis_format.primitives import Cursor
from storage.snapshot import opcodes
from storage.snapshot.options import Reading, SnapshotOptions
from storage.snapshot.stream_decoder import decode_stream
from storage.snapshot.stream_encoder import stream_pieces, stream_type
from storage.snapshot.values.codec import Codec, Decoder
from storage.stream import Stream


def _type_code(stream: Stream, options: SnapshotOptions) -> int:
    return stream_type(stream) if options.stream_type is None else options.stream_type


def _pieces(stream: Stream, options: SnapshotOptions, now_ms: int) -> Iterator[bytes]:
    code = _type_code(stream, options)
    return stream_pieces(stream, code, compress=options.compress, now_ms=now_ms)


def _decoder(code: int) -> Decoder:
    def decode(cursor: Cursor, reading: Reading) -> Stream:
        return decode_stream(cursor, code, reading)

    return decode


CODEC = Codec(_type_code, _pieces, min_version=opcodes.STREAM_VERSIONS)
DECODERS: dict[int, Decoder] = {code: _decoder(code) for code in opcodes.STREAMS}
