"""The side of a primary.

feed:             the stream that it sends
backlog:          the last bytes of the stream
replicas:         synchronisation, acknowledgements, timeouts
transfers:        snapshots for replicas
failed_syncs:     the pauses after full synchronisations that fail
acknowledgements: clients that wait for replicas (WAIT, WAITAOF)
failover:         FAILOVER
"""
