"""The data types in memory, and their formats on disk.

This layer is independent of clients, the clock and chance: time is a `now_ms` argument, and nothing
here imports the loop, sockets or the disk. It may import `protocol`, and is imported by `commands`.
"""
