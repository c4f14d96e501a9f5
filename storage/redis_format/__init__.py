"""Redis's encodings in memory and on disk, independent of streams and keys.

primitives:        lengths, strings, IDs, times and the checksum of RDB files
lzf:               the compression of strings
listpack:          lists of short strings and integers
listpack_elements: the elements of a listpack: their sizes, written one by one, read in place
encoding_limits:   limits of the compact encodings of collections
ziplist:           the predecessors of listpacks
"""
