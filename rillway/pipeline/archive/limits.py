"""Defaults and choices of the archive's options. Imports nothing: --help must be quick."""

BATCH_ENTRIES = 250_000
BATCH_BYTES = 1 << 30
TARGET_BYTES = 256 << 20
VACUUM_AFTER_HOURS = 7 * 24
# The epochs that a reader reads: all in sequence, or the line of the present one.
ALL, CURRENT = "all", "current"
EPOCH_CHOICES = (ALL, CURRENT)
# The periods by which files are cut (files/periods.py).
DAY, MONTH, YEAR, NONE = "day", "month", "year", "none"
PERIODS = (DAY, MONTH, YEAR, NONE)
# The folder of the mirror's own files, in an archive.
MIRROR_FOLDER = "_iceberg"
