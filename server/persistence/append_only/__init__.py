"""The append-only file.

append_only_file: opened, rewritten, switched on and off, closed
writer:           what is written, when, and what an error of the disk does
directory:        the manifest in force, and the files
kept_files:       replaced files that are kept, to go back to a moment
rewrites:         BGREWRITEAOF and automatic rewrites
"""
