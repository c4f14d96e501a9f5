"""Entries from before an archive began to have a stream, out of a backup.

`origins`   where they come from: another archive, or a server
`snapshot`  an RDB file, served by a process of its own
`adding`    their rows, below the first archived ID, in one commit
`commands`  `rillway archive backfill`
"""
