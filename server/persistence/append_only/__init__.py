"""The append-only file.

append_only_file: opened, rewritten, switched on and off, closed
writer:           what is written, when, and what an error of the disk does
directory:        the manifest in force, and the files
rewrites:         BGREWRITEAOF and automatic rewrites
"""
