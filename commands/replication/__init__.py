"""Replication as commands see it: REPLICAOF, PSYNC, REPLCONF, ROLE, FAILOVER, WAIT, WAITAOF."""
