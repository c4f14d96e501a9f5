"""The keys of a database.

database:       keys and their deadlines, their memory, walks over all of them, the keys of a slot
key_table:      the value of each key; small values are packed while no one refers to them
key_records:    the records that it consists of, and the hash table
creation_order: the keys in the order in which they were created, for SCAN
deadlines:      when each key expires, and which expires first
ordered_index:  a map in order, for deadlines of items; random numbers
deferred_free:  removed data, freed incrementally
"""
