"""A node of a Redis Cluster, as pure state: docs/architecture/cluster.md."""
