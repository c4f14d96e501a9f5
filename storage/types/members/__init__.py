"""The members of collections: tables of records, for sets and hashes.

record_table:  a compact hash table of records, in the order of insertion
key_part:      where the key of a record is, and its hash
pairs:         the records of hashes: field and value
"""
