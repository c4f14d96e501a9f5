"""The nodes of a stream, of about a hundred entries each: storage, look-up, reading.

node:           the interface that all nodes share
node_list:      the nodes of a stream in order, found by ID
open_node:      a node that takes entries: the last one of a stream
entry_buffer:   the entries of an open node, in one buffer
frozen_node:    a full node, packed into one blob
listpack_node:  a node from a snapshot, still a Redis listpack
entry_cache:    a two-queue cache of the entries of frozen nodes
range_snapshot: a consistent snapshot of a range, read incrementally
partition:      partitions a range into parts of equal size (XSPLIT)
"""
