"""The keys of a database.

database:      keys and their deadlines, their memory, walks over all of them, the keys of a slot
ordered_index: a map in order, for SCAN and deadlines; random numbers
deferred_free: removed data, freed incrementally
"""
