"""A server in the caller's process: for tests, and for `rillway check`.

server:         the server, with a manual clock and no sockets
embedded:       a server with the real clock and pairs of sockets: rillway.testing.FakeServer
loop_thread:    the thread in which these run
memory_files:   a file system that can fail and lose what was not synced
memory_network: connections between such servers
children:       child tasks without processes
"""
