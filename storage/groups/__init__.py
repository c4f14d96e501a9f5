"""Consumer groups and their pending entries lists (PEL).

group:            a group: its position, consumers and pending entries
consumer:         a consumer of a group
pending_list:     the pending entries of a group
pending_blocks:   the blocks of that list, found by ID
pending_block:    a block: the pending entries in one range of IDs, and their owners
consumer_pending: the pending entries of one consumer
claim_order:      the order in which pending entries become claimable
delivery_latency: how long entries waited for their first delivery
tally:            what the parts of groups take in memory, added up
lag:              entries-read and lag
ack_journal:      the stream in which acknowledgements are recorded
references:       what deleting an entry does to references from groups
"""
