"""The keys of a database.

database:       keys and their deadlines, their memory, walks over all of them, the keys of a slot
creation_order: the keys in the order in which they were created, for SCAN
ordered_index:  a map in order, for deadlines; random numbers
deferred_free:  removed data, freed incrementally
"""
