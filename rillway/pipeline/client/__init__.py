"""The client: one connection to a server, and what the server reports. Imports no other room.

`connection`     a socket: requests out, parsed replies in, several in flight at once
`urls`           URLs of servers: checked, shown without passwords, changed
`cluster`        the nodes of a Redis Cluster as one connection
`scripts`        a check and a write in one step, where the server has scripts
`watched_key`    a key that is set in one transaction with what it counts
`capabilities`   which commands the server has beyond Redis 7.0
`facts`          length, last ID and entries added of streams
`pending`        pending entries of consumer groups, page by page
`sampling`       drives a sampler (rillway/sampler) over a connection
`places`         where the archives are whose groups streams have
`ids`            entry IDs as pairs of numbers and as text
`id_units`       what the first half of an ID counts
`quantities`     times, durations and sizes as users write them
"""
