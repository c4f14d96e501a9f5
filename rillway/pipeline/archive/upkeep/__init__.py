"""Upkeep of an archive.

`compaction`  many small files become few large ones
`expiry`      old rows go
`upgrade`     an archive of an earlier release becomes one of this release
"""
