"""Messages: channels, patterns, shard channels."""
