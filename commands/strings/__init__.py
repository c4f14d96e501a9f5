"""String commands, for checkpoints, locks, counters and results."""
