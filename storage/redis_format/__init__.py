"""Redis's encodings in memory and on disk, without knowledge of streams or keys.

primitives:      lengths, strings, IDs and times of RDB files
checksum:        CRC-64
lzf:             the compression of strings
listpack:        lists of short strings and integers
listpack_writer: how their elements are written
listpack_size:   the exact size of a listpack that is never built
radix_tree:      how many nodes a radix tree would have
encoding_limits: up to which size collections stay in a compact encoding
intset:          sets of integers
ziplist:         the predecessor of listpacks
zipmap:          the predecessor of ziplists for hashes
"""
