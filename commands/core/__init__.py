"""The modules that all commands are built on.

registry:      the `@command` declaration and the table of commands
command_table: the commands by the names that one server gives them
documentation: what people read about each command
arguments:     a cursor over a request's arguments
floats:        floating-point arguments
help:          the HELP sub-command
client:        one connection's state
clients:       all clients of a server
gates:         states in which a request is checked before it runs
instance:      one server's state
host:          what commands ask of the process and of connections
services:      what commands ask of the dispatcher, of persistence and of replication
runner:        the base of the dispatcher, for compiled modules
blocking/:     clients that wait for a key
propagation/:  what goes to the append-only file and the replicas
long_reply:    replies sent in pieces
version:       the versions that the server reports
"""
