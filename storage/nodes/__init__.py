"""The nodes of a stream: about a hundred entries each, and what finds and reads them.

node:           what every node answers
node_list:      the nodes of a stream in order, found by ID
open_node:      a node as two lists, IDs and entries: the last one of a stream
frozen_node:    a full node, packed into one blob
listpack_node:  a node from a snapshot, still in Redis's listpack
entry_cache:    a two-queue cache of the entries of frozen nodes
range_snapshot: a range as it was at one moment, read incrementally
partition:      a range cut into parts of equally many entries (XSPLIT)
"""
