"""Shared parts of all clients of a server, without I/O.

`routing`  what an error of a cluster says about the next attempt
`polling`  asking again until a deadline
"""
