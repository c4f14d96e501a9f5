"""The event loop: the process's sockets and timers, and the order of its work.

server:       the assembly of a server, whatever runs it
service:      the server process
listeners:    the sockets that accept clients
connection:   a client's socket
cycle:        the end of a cycle
cron:         periodic work
scheduler:    background work between cycles
long_replies: replies sent in pieces
"""
