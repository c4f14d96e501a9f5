"""The commands of consumer groups.

group:       XGROUP
read_group:  XREADGROUP
delivery:    what the commands that deliver entries share, and the replay of deliveries
policy_turn: how XREADGROUP reads a group that has a delivery policy
key_turn:    the same, of a group that orders its entries by key
pending:     XACK, XACKDEL, XPENDING
nack:        XNACK, XREASON
claim:       XCLAIM, XAUTOCLAIM
ack_journal: writes acknowledgements to the journal of a stream
"""
