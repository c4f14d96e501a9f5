"""Adds entries of a backup that precede the first archived entry of a stream.

`adding`    reads them from another archive or a server, and adds their rows in one commit
`snapshot`  serves an RDB file by a child process
`commands`  `rillway archive backfill`
"""
