"""Consumer groups and their pending entries lists (PEL).

group:            a group, its consumers, and how long entries waited for them
pending_list:     the pending entries of a group, in blocks that are found by ID
pending_block:    a block: the pending entries in one range of IDs, and their owners
claim_order:      the order in which pending entries become claimable
ack_journal:      the stream in which acknowledgements are recorded
"""
