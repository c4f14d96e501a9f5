"""The side of a primary.

feed:             the stream that it sends
replicas:         synchronisation, acknowledgements, timeouts
transfers:        snapshots for replicas
failed_syncs:     the pauses after full synchronisations that fail
failover:         FAILOVER
"""
