"""Entries: their IDs, the encoding in which they are stored and sent, and the packing of nodes.

entry:         encoded entries: written, read without objects, and without what they have in common
entry_id:      an ID as one integer, its text, rows of IDs, and the IDs of a frozen node
packed_form:   how the entries of a node are packed, by layouts of those that are alike
"""
