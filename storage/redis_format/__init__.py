"""Redis's encodings in memory and on disk, independent of streams and keys.

primitives:        lengths, strings, IDs and times of RDB files
checksum:          CRC-64
lzf:               the compression of strings
listpack:          lists of short strings and integers
listpack_writer:   writes a listpack element by element
listpack_elements: the elements of a listpack, read where they are
listpack_size:     the exact size of a listpack that is never built
radix_tree:        the number of nodes of a radix tree
encoding_limits:   limits of the compact encodings of collections
intset:            sets of integers
ziplist:           the predecessor of listpacks
zipmap:            the predecessor of ziplists for hashes
"""
