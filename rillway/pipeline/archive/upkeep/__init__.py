"""Upkeep of an archive.

`compaction`  merges many small files into few large ones
`expiry`      removes old rows
`commands`    `rillway archive compact`, `expire` and `upkeep`, the regular upkeep
"""
