"""Snapshots: RDB files.

saves:         SAVE, BGSAVE, save points
snapshot_file: the data written to a file
"""
