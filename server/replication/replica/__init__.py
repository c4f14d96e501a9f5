"""The side of a replica.

link:               the connection to the primary, as a state machine
handshake:          its first requests, up to PSYNC
reception:          a snapshot, received into a file
installation:       that snapshot in the place of the data
applier:            the primary's stream, applied
"""
