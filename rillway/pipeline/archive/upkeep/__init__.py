"""Upkeep of an archive.

`compaction`  many small files become few large ones
`expiry`      old rows go
`regular`     all of it, as a timer does it
`commands`    `rillway archive compact`, `expire`, `upkeep`
"""
