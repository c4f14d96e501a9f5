"""HyperLogLog commands."""
