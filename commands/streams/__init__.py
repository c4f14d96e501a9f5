"""The stream commands: one module per noun, as in the Redis documentation."""
