"""The way of a request: from a client's bytes to the handler of its command, and what follows.

session:     a client's requests, in order
dispatch:    look-up, running
command_clock: statistics, slow log, time slices; replies and refusals
admission:   whether a request may run now; evicts keys while more memory is in use than allowed
client_limit: the memory limit of clients
waiters:     blocked clients are served; the clients that go on later
script_runs: scripts that can pause
"""
