"""Snapshots: the data as Redis's RDB files and DUMP payloads have it, written and read.

Pure functions of bytes: no file is opened here, and time comes in as `now_ms`.
"""
