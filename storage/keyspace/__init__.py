"""The keys of a database.

database:      keys and their deadlines
ordered_index: a map in order, for SCAN and deadlines
slot_index:    the keys of each hash slot, in cluster mode
key_walk:      all keys of one moment, read incrementally
memory_count:  the memory of keys and values
deferred_free: removed data, freed incrementally
"""
