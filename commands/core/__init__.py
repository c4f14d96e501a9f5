"""The modules that all commands are built on; they know no family.

arguments:       a cursor over a request's arguments, and numbers
background_work: tasks that no client waits for
blocked_clients: clients that wait for a key
client:          one connection's state, and all clients of a server
gates:           states in which a request is checked before it runs
host:            what commands ask of the process and of connections; versions
instance:        one server's state, and its counters
long_reply:      replies sent in pieces
notifications:   keyspace events
propagation:     what goes to the append-only file and the replicas
registry:        the `@command` declaration, the table of commands, and the base of the dispatcher
server_state:    the role in replication, and what is saved
services:        what commands ask of the dispatcher, of persistence and of replication
stats:           latencies, rates and other figures of INFO
"""
