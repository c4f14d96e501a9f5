"""The way of changes to the append-only file and the replicas.

propagation:      the requests that repeat changes, as units, in one buffer
sinks:            the receivers of batches of them
carried_requests: requests of Rillway's own, which a carrier transports
"""
