"""The nodes of a stream: about a hundred entries each, in the form in which they are sent.

Clients see where a node ends (Redis 7.4): `~` trims remove whole nodes, and XINFO STREAM counts
them. So a node knows, besides its live entries, the number of deleted ones, and the size of its
listpack in Redis.

open_node:      a node with a buffer: the last one of a stream, or one too large to freeze
frozen_node:    a full node, packed into one blob
listpack_node:  a node from a snapshot, still a Redis listpack until it is read
node_list:      the nodes of a stream in order, found by ID
entry_cache:    a two-queue cache of the entries of frozen nodes
ranges:         a range partitioned into parts of equal size (XSPLIT), or read incrementally
"""
