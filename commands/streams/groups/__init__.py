"""The commands of consumer groups.

group:             XGROUP
read_group:        XREADGROUP
delivery:          what the commands that deliver entries share
replayed_delivery: XCLAIM of deliveries that an append-only file has
idle_entries:      XREADGROUP CLAIM
acknowledge:       XACK, XACKDEL, XNACK
claim:             XCLAIM, XAUTOCLAIM
pending:           XPENDING
ack_journal:       writes acknowledgements to the journal of a stream
"""
