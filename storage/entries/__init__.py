"""Entries: their IDs, the encoding in which they are stored and sent, and the packing of nodes.

entry:         an entry as the bytes of its reply
entry_id:      an ID as one integer, and its text
entry_ids:     a row of IDs
id_columns:    the IDs of a frozen node
entry_reader:  a walk over encoded entries, without objects
packed_form:   chooses how the entries of a node are packed
frame:         entries that have the same names, without what they have in common
layout:        what entries that are alike have in common
number_layout: entries that differ in one number only
column_layout: entries that differ in some bytes, kept by column
field_row:     the fields of such entries, filled in one after the other for a snapshot
"""
