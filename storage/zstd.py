"""Compression of what stays in memory, by zstd of level 1: frames without checksum and dictionary.

The compressor is used again and again, as making its context takes longer than a node. The standard
library (from Python 3.14 on) and its backport have no decompressor for more than one frame, and a
new context asks the processor what it can do: 12 µs on a virtual machine, where that instruction
traps, and 3 µs for all else. So their library is asked directly, where it shows its functions.

Leaves out: blobs of others, which may be damaged; none is stored in a file.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

if sys.version_info >= (3, 14):
    import _zstd
    from compression import zstd
else:
    from backports import zstd
    from backports.zstd import _zstd

LEVEL = 1

_parameter = zstd.CompressionParameter
_compressor = zstd.ZstdCompressor(
    options={
        _parameter.compression_level: LEVEL,
        _parameter.checksum_flag: False,
        _parameter.dict_id_flag: False,
    }
)


def compress(content: bytes | memoryview) -> bytes:
    """Return one frame, which names the length of its content."""
    return _compressor.compress(content, _compressor.FLUSH_FRAME)


def _with_own_context() -> Callable[[bytes], bytes]:
    """A decompressor with a context that stays. Raises OSError or AttributeError if there is none.

    Functions of the stable part of zstd.h. They hold the GIL, so the context needs no lock.
    """
    library = ctypes.PyDLL(_zstd.__file__)
    content_bytes = library.ZSTD_getFrameContentSize
    content_bytes.argtypes = ctypes.c_char_p, ctypes.c_size_t
    content_bytes.restype = ctypes.c_ulonglong
    fill = library.ZSTD_decompressDCtx
    fill.argtypes = (
        ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t
    )  # fmt: skip
    fill.restype = ctypes.c_size_t
    library.ZSTD_createDCtx.restype = ctypes.c_void_p
    context = library.ZSTD_createDCtx()

    def decompress(frame: bytes) -> bytes:
        length = len(frame)
        size = content_bytes(frame, length)
        content = bytes(size)  # nobody else has seen it yet
        if fill(context, content, size, frame, length) != size:
            raise ValueError("a frame of zstd is damaged")
        return content

    return decompress


decompress: Callable[[bytes], bytes]
"""Return the content of a frame of `compress`."""
try:
    decompress = _with_own_context()
except (OSError, AttributeError):
    decompress = zstd.decompress
