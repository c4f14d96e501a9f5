"""Replication: a primary's replicas, and the link of a replica to its primary."""
