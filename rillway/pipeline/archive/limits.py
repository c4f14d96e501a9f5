"""Sizes of the archive's batches and files, and how long unused files stay: the defaults."""

BATCH_ENTRIES = 250_000
BATCH_BYTES = 1 << 30
TARGET_BYTES = 256 << 20
VACUUM_AFTER_HOURS = 7 * 24
