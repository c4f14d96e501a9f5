"""The members of collections: tables of records, for sets, hashes and sorted sets.

packed_table:  records packed into segments: the base class of sets and hashes
segment:       some hundred records in one block of memory, with their index
packed_record: a record in a block
memory:        blocks of memory, and the numbers and objects in them
member_bulks:  the records of a segment as a reply
record_table:  a compact hash table of records that are objects, for sorted sets
key_part:      where the key of a record is, and its hash
pairs:         the records of hashes: field and value
"""
