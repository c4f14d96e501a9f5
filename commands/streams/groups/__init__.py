"""The commands of consumer groups.

group:       XGROUP
read_group:  XREADGROUP
delivery:    what the commands that deliver entries share, and the replay of deliveries
pending:     XACK, XACKDEL, XNACK, XPENDING
claim:       XCLAIM, XAUTOCLAIM
ack_journal: writes acknowledgements to the journal of a stream
"""
