"""Data from disk.

loader:           the data at a start
reload:           DEBUG RELOAD, DEBUG LOADAOF
replay:           the requests of an append-only file
snapshot_restore: the keys of a snapshot
"""
