"""`rillway cluster`: a Redis Cluster of Rillway processes on this machine, one for each core."""
