"""A server in the caller's process, without sockets: for tests, and for `rillway check`.

server:         the server, with a manual clock
memory_files:   a file system that can fail and lose what was not synced
memory_network: connections between such servers
children:       child tasks without processes
"""
