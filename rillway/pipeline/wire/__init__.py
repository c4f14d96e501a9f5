"""The wire: one connection to a server, and what the server reports. Imports no other room.

`connection`     a socket: requests out, parsed replies in, several in flight at once
`urls`           URLs of servers: checked, shown without passwords, changed
`cluster`        the nodes of a Redis Cluster as one connection
`watched_key`    a key that is set in one transaction with what it counts
`capabilities`   commands beyond Redis 7.0, and scripts, where the server has them
`facts`          length, last ID and entries added of streams
`pending`        pending entries of consumer groups, page by page
`sampling`       drives a sampler (rillway/sampler) over a connection
`places`         the folders of the archives that have groups in the streams
`ids`            entry IDs as numbers and as text, and what their first half counts
`quantities`     times, durations and sizes as users write them
"""
