"""What the data is, in memory: streams, their groups and the entries that await acknowledgement.

This layer knows no client, no clock and no chance: time is a `now_ms` argument, and nothing here
imports the loop, sockets or the disk. It may import `protocol`, and is imported by `commands`.
"""
