"""The types of values beside streams.

value:        the base class of all types
strings:      strings
bits:         the bits of long strings
hyperloglog:  estimates of cardinality, in a string
hashes:       hashes, and the times of their fields
lists:        lists
list_node:    a node of a list, in the bytes of a listpack
sets:         sets
sorted_sets:  sorted sets; places are kept in them
members/:     tables of records, in which sets, hashes and sorted sets keep their members
scored/:      members with scores in order, for sorted sets
sample:       numbers chosen at random
"""
