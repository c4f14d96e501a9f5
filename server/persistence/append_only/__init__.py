"""The append-only file.

append_only_file: opened, rewritten, switched on and off, closed
writer:           what is written, when, and what an error of the disk does
directory:        the manifest in force, and the files
rewrites:         BGREWRITEAOF and automatic rewrites
sync_thread:      syncing and removing files beside the loop
"""
