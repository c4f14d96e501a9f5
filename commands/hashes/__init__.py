"""The commands of hashes. Source: Redis 7.0 and, for times of fields, 7.4 to 8.10."""
