"""The types of values beside streams.

value:         the base class of all types, and strings with their bits
hyperloglog:   estimates of cardinality, in a string
hashes:        hashes, and the times of their fields
lists:         lists
quicklist:     the nodes of a list of more than a few elements
list_nodes:    a node of a list: elements in the bytes of a listpack
sets:          sets, and sorted sets
packed_table:  records packed into segments: the base class of sets and hashes
records:       the records of hashes and sorted sets; the table and the order of the latter
few_records:   the members of a small sorted set, packed
blocks:        blocks of memory for packed tables, and the numbers and objects in them
key_part:      where the key of a record is, and its hash
"""
