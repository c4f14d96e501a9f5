"""Snapshots: reading and writing of Redis's RDB files and DUMP payloads.

Pure functions of bytes: no file is opened here, and time comes in as `now_ms`.
"""
