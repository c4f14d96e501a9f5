"""List commands, for queues, stacks and buffers."""
