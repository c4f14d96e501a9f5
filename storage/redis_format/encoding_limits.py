"""The limits up to which Redis keeps collections in a compact encoding: directives of redis.conf.

Rillway's values have another form in memory, but clients see OBJECT ENCODING, DUMP and the order of
a small hash, so every method that may change the encoding takes these limits.
"""

from __future__ import annotations


class EncodingLimits:
    """The limits in force. CONFIG SET changes them in place."""

    hash_max_listpack_entries: int = 512
    hash_max_listpack_value: int = 64
    list_max_listpack_size: int = -2  # -1 to -5: 4, 8, 16, 32, 64 KiB a node; else elements
    list_compress_depth: int = 0
    set_max_intset_entries: int = 512
    set_max_listpack_entries: int = 128
    set_max_listpack_value: int = 64
    zset_max_listpack_entries: int = 128
    zset_max_listpack_value: int = 64
    hll_sparse_max_bytes: int = 3000

    def __init__(self, **limits: int) -> None:
        vars(self).update(limits)
